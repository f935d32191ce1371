// Work on rows: norms, softmax, reductions, sorting, rotary embedding.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/kernels/rows/args.h"
#include "pippin/mil/data_type.h"

namespace pippin::engine {

// x / sqrt(mean(x^2) + epsilon) * gamma; views: y [m, n], x [m, n], gamma [n] if any.
struct RmsNormNode {
  float epsilon = 0;
};

// (x - mean(x)) / sqrt(variance(x) + epsilon) * gamma + beta; views: y [m, n], x [m, n], then gamma
// and beta [n] if any.
struct LayerNormNode {
  float epsilon = 0;
  bool has_gamma = false, has_beta = false;
};

// y = x / sqrt(sum of x * x + epsilon); views: y [m, n], x [m, n].
struct L2NormNode {
  double epsilon = 0;
};

// y = x / (k + alpha * sum of x * x over the nearest `size` channels) ^ beta; views: y, x, both
// [outer, channels, inner] without gaps.
struct LocalResponseNode {
  int64_t size = 0;
  double alpha = 0;  // of each of them
  float beta = 0, k = 0;
};

// A layer norm of each channel's places; views: y [N * C, places], x like it.
struct InstanceNormNode {
  std::vector<float> gamma, beta;  // of channels
  float epsilon = 0;
};

// views: y [m, n], x [m, n].
struct SoftmaxNode {};

// x * cos + turned(x) * sin, with turned([a, b]) = [-b, a]; views: y, x, cos, sin, with the axis
// last and of unit stride. cos and sin have the same layout and are as wide as x, or half as wide.
struct RotaryNode {
  bool pairs = false;  // a and b are the even and odd elements of x, else its halves
};

// views: y [m, 1], x [m, n] of fp32.
struct ReduceNode {
  std::string name;
  kernels::ReduceOp op{};
};

// The position of the largest (or smallest) element of each row, the first of equals. views: y [m,
// 1] of int32, x [m, n] of fp32 or int32.
struct ArgNode {
  std::string name;
  kernels::ReduceOp op{};  // Max or Min
};

// A reduction by the name of its operation: those that are one sum or product in double precision,
// and all reductions of integers, which floats would not hold. views: y [m, 1], x [m, n], both of
// fp32 or of int32.
struct FoldNode {
  std::string name;
  mil::DataType type = mil::DataType::Float32;  // of the result
};

// views: y [outer, size, inner] without gaps, x [outer, size, inner]; fp32, or int32, which wraps
// around.
struct CumulativeSumNode {
  bool exclusive = false, reverse = false;
};

// The first k elements of every sorted row, and their positions in it; equal elements keep their
// order, NaN counts as largest, and zeros of both signs are equal.
//
// views: indices int32 [rows, k], then values [rows, k] if requested, then x [rows, n], fp32 or
// int32; all with unit column strides, n below 2^31.
struct SortNode {
  std::string name;
  bool ascending = false;
};

}  // namespace pippin::engine
