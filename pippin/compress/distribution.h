// The distinct values of a set of weights, ascending, with the number of occurrences of each: the
// input for computing palettes, and scales of large blocks. fp16 has at most 65536 values, so
// counting sorts them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace pippin::compress {

struct Distribution {
  std::vector<float> values;   // ascending
  std::vector<float> weights;  // counts
};

// Counts fp16 bit patterns; -0 counts as 0. Can be reused for many sets.
class Float16Counter {
 public:
  Float16Counter() : counts_(65536) {}
  void add(std::span<const uint16_t> bits) {
    for (const uint16_t value : bits) ++counts_[value];
  }
  // Returns the values added since the last call and resets the counts.
  Distribution take();

 private:
  std::vector<uint32_t> counts_;
};

// If there are more distinct values than `limit`, merges neighbours into their means.
Distribution merged(Distribution distribution, size_t limit);

// From pairs of values and importance.
Distribution weighted_distribution(std::vector<std::pair<float, float>> values,
                                   size_t limit = 65536);

// From any floats; merged() if there are more distinct values than `limit`.
Distribution distribution_of(std::vector<float> values, size_t limit = 65536);

}  // namespace pippin::compress
