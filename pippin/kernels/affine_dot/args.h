// The arguments of affine_dot.h and the tables of kernels.inc. Included by files that are compiled
// for one instruction set: no inline functions here.
#pragma once

#include <cstdint>

#include "pippin/kernels/dot/args.h"

namespace pippin::kernels {

// W[n, k] in unsigned codes of 4 or 8 bits, row after row, the first code in the least significant
// bits; each `group` columns of a row (a multiple of 32 that divides k) have a scale and a bias:
//   value = code * scales[row, group] + biases[row, group]
struct AffineMatrix {
  const uint8_t* codes;
  int64_t n, k;
  int bits;
  int64_t group;
  const void* scales;  // [n, k / group]
  const void* biases;
  WeightType type;  // of both
};

// Activations as the kernel wants them, made by prepare_affine_rows(), in one of two forms. Rows
// are padded with zeros to `padded` columns.
//
// Floats. For codes of 4 bits a kernel may take the columns of each block of 8 * lanes in turns:
// place (j, lane) of the block holds column 8 * lane + j, so that the same bits of `lanes` words of
// codes meet neighbours.
//
// Fixed point, for codes of 4 bits and kernels that multiply bytes: each group has a unit, a power
// of two, and a value is a whole number of units below 2^22, in three signed bytes, the highest
// first. Of the rounding of float32 that keeps what matters to a sum. Each block of 8 * lanes
// columns is
//   [high bytes of even columns][of odd ones][middle bytes of even ...][...][low ...][...]
// which are the orders of the low and the high halves of the bytes of codes.
struct AffineRows {
  int64_t m, k, padded, groups;
  float* values;   // [m, padded], unless `digits` is set
  int8_t* digits;  // [m, 3 * padded], or null
  float* sums;     // [m, groups]: of each group's columns
  float* units;    // [m, groups], with digits
};

// y[i, j] for all rows i of x, at most kMostAffineRows, and the columns j of [n_begin, n_end).
struct AffineDotArgs {
  const AffineMatrix* w;
  const AffineRows* x;
  float* y;  // of row 0, column 0
  int64_t y_stride;
  int64_t n_begin, n_end;
};
constexpr int64_t kMostAffineRows = 4;
constexpr int64_t kMostAffineGroups = 1024;  // of a row

struct AffineDotKernels {
  const char* name;
  void (*dot)(const AffineDotArgs& args) noexcept;
  // The columns [begin, end) of row j of W, codes of 2 to 8 bits, but for 7.
  void (*expand)(const AffineMatrix& w, int64_t j, int64_t begin, int64_t end, float* y) noexcept;
  int64_t lanes;  // of the order of rows for codes of 4 bits; 0: columns as they are
  // Fills digits, units and sums for codes of 4 bits; false where a group has numbers that are not
  // finite, or so small that a unit is no float. Null: the kernel takes floats only.
  bool (*fix)(const AffineMatrix& w, const float* x, int64_t x_stride, AffineRows& form) noexcept;
};

#define PIPPIN_AFFINE_DOT(flag, name) extern const AffineDotKernels name;
#include "pippin/kernels/affine_dot/kernels.inc"
#undef PIPPIN_AFFINE_DOT

}  // namespace pippin::kernels
