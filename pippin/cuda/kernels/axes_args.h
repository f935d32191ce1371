// Arrays of one shape with different strides, as the threads of a kernel walk them.
#pragma once

#include <cstdint>

namespace pippin::cuda {

constexpr int kMostAxes = 8;

// N arrays. Axis 0 is the innermost one. A thread has one element, or `width` of them, adjacent on
// axis 0, whose shape and strides are then those of the groups; the elements of a group are
// adjacent in memory, or, if the stride is 0, the same one.
template <int N>
struct Axes {
  uint32_t count;  // threads with work
  int16_t rank, width;
  uint32_t shape[kMostAxes];
  int64_t strides[N][kMostAxes];  // in elements
};

}  // namespace pippin::cuda
