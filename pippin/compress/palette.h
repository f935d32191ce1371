// Palettes: the 2^n values that replace a set of weights with the smallest squared error.
//
// One-dimensional k-means has an optimum that can be computed: the clusters of sorted values are
// intervals, so dynamic programming over their ends finds the best ones (Wang and Song, "Ckmeans.1d
// .dp", 2011), and since the best start of the last interval grows with its end, each row takes
// O(m log m) by divide and conquer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pippin/compress/distribution.h"
#include "pippin/mil/data_type.h"

namespace pippin::compress {

// At most `entries` ascending means of intervals of the values; fewer if there are fewer distinct
// values. At most 65536 values.
std::vector<double> optimal_palette(const Distribution& distribution, size_t entries);

// Exactly `entries` ascending values, rounded to `type` (Float16, Float32); repeats the last one.
std::vector<float> stored_palette(const std::vector<double>& palette, size_t entries,
                                  mil::DataType type);

// Finds the index of the nearest entry of an ascending palette.
class NearestEntry {
 public:
  explicit NearestEntry(std::span<const float> palette);
  uint8_t operator()(float value) const;

 private:
  std::vector<float> ends_;  // upper ends of the entries, except the last
};

}  // namespace pippin::compress
