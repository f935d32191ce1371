// The arguments of rotary.cuh.
#pragma once

#include "pippin/cuda/kernels/axes_args.h"

namespace pippin::cuda {

// Each thread turns pairs of elements: the second of a pair of y and x is `second` elements after
// the first; its angle is `second_angle` elements after the first one's, if they differ.
struct RotaryArgs {
  float* y;
  const float *x, *cos, *sin;
  int64_t second, second_angle;
  Axes<4> axes;  // of the first elements of y, x, cos, sin
};

}  // namespace pippin::cuda
