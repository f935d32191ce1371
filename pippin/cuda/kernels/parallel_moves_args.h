// The arguments of parallel_moves.cuh.
#pragma once

#include <cstdint>

#include "pippin/cuda/kernels/element.h"

namespace pippin::cuda {

// A copy, or a rotary embedding (RotaryArgs) whose results may be converted; with up to three axes,
// as in Axes.
struct ParallelMove {
  static constexpr int kMostAxes = 3;

  void* y;
  const void* x;
  const float *cos, *sin;  // null: a copy
  uint32_t count, first_block;
  uint32_t shape[kMostAxes];
  int32_t strides[4][kMostAxes];  // of y, x, cos, sin
  int32_t second, second_angle;
  Element to, from;
  int16_t rank, width;
};

// Moves that do not depend on each other.
struct ParallelMovesArgs {
  static constexpr int kMost = 3;
  ParallelMove moves[kMost];
  int32_t count;
};

}  // namespace pippin::cuda
