// The arguments of affine_dot.h and the tables of kernels.inc. Included by files that are compiled
// for one instruction set: no inline functions here.
#pragma once

#include <cstdint>

#include "pippin/kernels/dot/args.h"

namespace pippin::kernels {

// W[n, k] as unsigned codes of 4 or 8 bits, row by row, first code in the least significant bits;
// each `group` columns of a row (a multiple of 32 that divides k) have a scale and a bias:
//   value = code * scales[row, group] + biases[row, group]
struct AffineMatrix {
  const uint8_t* codes;
  int64_t n, k;
  int bits;
  int64_t group;
  const void* scales;  // [n, k / group]
  const void* biases;
  WeightType type;  // of scales and biases
};

// Activations in the form that the kernel needs, made by prepare_affine_rows(); one of two forms.
// Rows are padded with zeros to `padded` columns.
//
// Floats. For 4-bit codes, a kernel may interleave the columns of each block of 8 * lanes: position
// (j, lane) of the block holds column 8 * lane + j, so that the same bits of `lanes` words of codes
// correspond to neighbouring floats.
//
// Fixed point, for 4-bit codes and kernels that multiply bytes: each group has a unit, a power of
// two, and a value is an integer below 2^22 times the unit, in three signed bytes, the highest
// first. Compared with float32 this loses nothing that matters to a sum. Each block of 8 * lanes
// columns is
//   [high bytes of even columns][of odd ones][middle bytes of even ...][...][low ...][...]
// which are the orders of the low and the high halves of the codes' bytes.
struct AffineRows {
  int64_t m, k, padded, groups;
  float* values;   // [m, padded], if `digits` is null
  int8_t* digits;  // [m, 3 * padded], or null
  float* sums;     // [m, groups]: the sums of each group's columns
  float* units;    // [m, groups], with digits
};

// y[i, j] for all rows i of x, at most kMostAffineRows, and the columns j in [n_begin, n_end).
struct AffineDotArgs {
  const AffineMatrix* w;
  const AffineRows* x;
  float* y;  // for row 0, column 0
  int64_t y_stride;
  int64_t n_begin, n_end;
};
constexpr int64_t kMostAffineRows = 4;
constexpr int64_t kMostAffineGroups = 1024;  // per row

struct AffineDotKernels {
  const char* name;
  void (*dot)(const AffineDotArgs& args) noexcept;
  // The columns [begin, end) of row j of W, for codes of 2 to 8 bits except 7.
  void (*expand)(const AffineMatrix& w, int64_t j, int64_t begin, int64_t end, float* y) noexcept;
  int64_t lanes;  // order of rows for 4-bit codes; 0: columns in order
  // Fills digits, units and sums for 4-bit codes; false if a group has numbers that are not finite,
  // or so small that a unit is not representable as a float. Null: the kernel supports floats only.
  bool (*fix)(const AffineMatrix& w, const float* x, int64_t x_stride, AffineRows& form) noexcept;
};

#define PIPPIN_AFFINE_DOT(flag, name) extern const AffineDotKernels name;
#include "pippin/kernels/affine_dot/kernels.inc"
#undef PIPPIN_AFFINE_DOT

}  // namespace pippin::kernels
