// The distinct values of a set of weights, ascending, with how often each occurs: what palettes
// are computed from, and scales of large blocks. fp16 has at most 65536 of them, so counting sorts.
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

// Counts fp16 bit patterns; -0 counts as 0. One object serves many sets.
class Float16Counter {
 public:
  Float16Counter() : counts_(65536) {}
  void add(std::span<const uint16_t> bits) {
    for (const uint16_t value : bits) ++counts_[value];
  }
  // What was added since the last call; the counts start again.
  Distribution take();

 private:
  std::vector<uint32_t> counts_;
};

// Of more distinct values than `limit`: neighbours merged with neighbours, into their means.
Distribution merged(Distribution distribution, size_t limit);

// Of values and what each counts.
Distribution weighted_distribution(std::vector<std::pair<float, float>> values,
                                   size_t limit = 65536);

// Of any floats; merged() where there are more distinct values than `limit`.
Distribution distribution_of(std::vector<float> values, size_t limit = 65536);

}  // namespace pippin::compress
