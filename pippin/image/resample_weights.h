// The weights of the source pixels in each pixel of a resized axis.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/image/resample.h"

namespace pippin::image {

struct AxisWeights {
  // The source pixels `first` to `first + count - 1` of one result, whose weights begin at `at`.
  struct Taps {
    int64_t first = 0, count = 0;
    size_t at = 0;
  };

  std::vector<Taps> taps;       // one per result
  std::vector<double> weights;  // those of a result have the sum 1
  double largest = 0;           // of all results of the axis, also of those that are not here

  // The source pixels that any result uses.
  int64_t begin() const;
  int64_t end() const;
};

// Returns the weights of results `first` to `first + count - 1` of an axis of `from` pixels that
// becomes one of `to` pixels. Throws Unsupported for filters that the backend does not have.
AxisWeights axis_weights(int64_t from, int64_t to, int64_t first, int64_t count, Filter filter,
                         Backend backend);

// Weights as integers, scaled by a power of two.
struct FixedWeights {
  std::vector<int32_t> weights;
  int bits = 0;
};
// Pillow's weights have 22 bits, torchvision's as many as let the largest fit 16 bits with a sign.
FixedWeights fixed_weights(const AxisWeights& axis, Backend backend);

}  // namespace pippin::image
