// Dynamic time warping: text tokens along the positions of a window.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pippin::speech {

// A matrix by rows.
struct Costs {
  int64_t rows = 0, columns = 0;
  std::vector<float> values;

  float at(int64_t row, int64_t column) const {
    return values[static_cast<size_t>(row * columns + column)];
  }
};

// Finds the cheapest monotonic path from the first to the last element, and returns the column at
// which each row begins. Both sizes must be 1 or more.
std::vector<int64_t> row_starts(const Costs& costs);

// Replaces each number of a row by the median of the `width` (odd) numbers around it, reflected at
// the ends. A row that is not longer than half of that stays.
void median_filter(std::span<float> row, int64_t width);

}  // namespace pippin::speech
