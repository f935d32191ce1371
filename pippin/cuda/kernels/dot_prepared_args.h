// The arguments of dot_prepared.cuh, dot_halves.cuh and dot_tiles.cuh.
#pragma once

#include <cstdint>

#include "pippin/cuda/kernels/dot_args.h"
#include "pippin/kernels/rows/args.h"

namespace pippin::cuda {

// A product with one row of x that its blocks prepare themselves, or with rows that an earlier
// kernel has prepared (dot_halves.cuh, dot_tiles.cuh).
struct PreparedDotArgs {
  // The kernel waits for earlier ones after it has asked for weights.
  static constexpr bool kWaitsItself = true;

  DotArgs dot;
  const float* gamma;  // of the norm, or null
  // activation(product 0) * product 1, the only result; null: the products.
  float* gated;
  int64_t gated_stride;  // between rows
  float epsilon;
  bool has_norm;  // x is normalized first
  kernels::GateOp activation;
};

}  // namespace pippin::cuda
