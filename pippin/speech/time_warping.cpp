#include "pippin/speech/time_warping.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace pippin::speech {

std::vector<int64_t> row_starts(const Costs& costs) {
  enum Step : uint8_t { Diagonal, Down, Right };  // to the element, from the one before it
  const int64_t width = costs.columns + 1;
  // The costs of the cheapest paths up to each element of the last and of this row; row 0 and
  // column 0 lie before the matrix.
  constexpr float kNone = std::numeric_limits<float>::infinity();
  std::vector<float> last(static_cast<size_t>(width), kNone);
  std::vector<float> row(static_cast<size_t>(width), kNone);
  std::vector<Step> steps(static_cast<size_t>((costs.rows + 1) * width), Right);
  last[0] = 0;
  for (int64_t i = 1; i <= costs.rows; ++i) {
    row[0] = kNone;
    for (int64_t j = 1; j <= costs.columns; ++j) {
      const auto column = static_cast<size_t>(j);
      const float diagonal = last[column - 1];
      const float down = last[column];
      const float right = row[column - 1];
      Step step = Right;
      float best = right;
      if (diagonal < down && diagonal < right) {
        step = Diagonal;
        best = diagonal;
      } else if (down < diagonal && down < right) {
        step = Down;
        best = down;
      }
      row[column] = costs.at(i - 1, j - 1) + best;
      steps[static_cast<size_t>(i * width + j)] = step;
    }
    std::swap(last, row);
  }
  std::vector<int64_t> starts(static_cast<size_t>(costs.rows));
  int64_t i = costs.rows;
  int64_t j = costs.columns;
  while (i > 0) {
    starts[static_cast<size_t>(i - 1)] = std::max<int64_t>(j - 1, 0);
    const Step step = j == 0 ? Down : steps[static_cast<size_t>(i * width + j)];
    if (step != Right) --i;
    if (step != Down) --j;
  }
  return starts;
}

void median_filter(std::span<float> row, int64_t width) {
  const auto size = static_cast<int64_t>(row.size());
  const int64_t half = width / 2;
  if (size <= half) return;
  const std::vector<float> given(row.begin(), row.end());
  std::vector<float> around(static_cast<size_t>(width));
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t k = 0; k < width; ++k) {
      int64_t from = std::abs(i + k - half);
      if (from >= size) from = 2 * (size - 1) - from;
      around[static_cast<size_t>(k)] = given[static_cast<size_t>(from)];
    }
    std::nth_element(around.begin(), around.begin() + half, around.end());
    row[static_cast<size_t>(i)] = around[static_cast<size_t>(half)];
  }
}

}  // namespace pippin::speech
