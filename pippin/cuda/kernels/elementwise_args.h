// The arguments of elementwise.cuh.
#pragma once

#include "pippin/cuda/kernels/axes_args.h"
#include "pippin/kernels/elementwise/args.h"
#include "pippin/kernels/rows/args.h"

namespace pippin::cuda {

// Functions without a kernel on the CPU: those of floats, then those of integers.
enum class MapOp : uint8_t {
  Acos,
  Asin,
  Atan,
  Atanh,
  Cosh,
  Sinh,
  Tan,
  ClampedRelu,
  ThresholdedRelu,
  Abs,
  Clip,
  Same,
  Sign,
  Square,
};

struct UnaryArgs {
  float* y;
  const float* x;
  kernels::UnaryOp op;
  float alpha, beta;
  Axes<2> axes;
};
struct MapArgs {
  void* y;
  const void* x;
  MapOp op;
  double alpha, beta;
  Axes<2> axes;
};
struct NarrowArgs {
  int32_t* y;
  const int32_t* x;
  int32_t bits;
  bool is_signed, saturates;
  Axes<2> axes;
};
struct AllowedArgs {
  float* y;
  const uint8_t* x;
  Axes<2> axes;
};
// Of two arrays; y holds floats, integers or bools, as the kernel's name says.
template <typename Op>
struct PairwiseArgs {
  void* y;
  const void *a, *b;
  Op op;
  bool integers;
  Axes<3> axes;
};
using BinaryArgs = PairwiseArgs<kernels::BinaryOp>;
using CompareArgs = PairwiseArgs<kernels::CompareOp>;
using GateArgs = PairwiseArgs<kernels::GateOp>;
enum class Logic : uint8_t { And, Or, Xor, Not };  // as engine::LogicOp
using LogicArgs = PairwiseArgs<Logic>;
struct SelectArgs {
  uint32_t* y;
  const uint8_t* condition;
  const uint32_t *a, *b;
  Axes<4> axes;
};

// Rows of `inner` elements without gaps; row i has the scale of slice i % num_slices.
struct CodeArgs {
  enum class Op : uint8_t { Quantize, Dequantize, Round };  // as engine::CodeOp

  void* y;
  const void* x;
  const kernels::CodeScale* slices;
  int64_t num_slices, inner, count;  // count: all elements
  Op op;
};
// y [matrices, pairs, size] without gaps, x [matrices, channels, size].
struct PairArgs {
  int32_t* y;
  const float* x;
  kernels::CodeScale scale;
  int64_t pairs, channels, size, count;
  int64_t x_matrix, x_channel;  // strides
};

}  // namespace pippin::cuda
