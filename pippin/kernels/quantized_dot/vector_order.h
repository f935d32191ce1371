// The order in which the products of a row of x and a row of W are added, over the vectors of the
// includer. It is the same for any number of rows and any source of codes, so that results have the
// same bits.
//
// The products of a unit of columns are added as integers, which is exact. After scaling, they are
// added in fp32 to one of kClasses sums in turn: a register with four rows of W has a lane for each
// row and class (vector_few.h). If a lane is a row of W, classes are registers (vector_tiles.h).
#pragma once

#include "pippin/kernels/quantized_dot/args.h"
#include "pippin/kernels/vec/inline.h"

namespace pippin::kernels {
namespace {

constexpr int kClasses = static_cast<int>(kLanes / 4);

// QuantizedRows::behind: the fours of neighbouring registers of bytes belong to the same units.
constexpr int64_t kBehind = kByteLanes;

// The units of a class, relative to its first. With nibbles in units of 16 columns, two neighbours
// are in the same four lanes.
template <int kParts, int64_t kUnit>
PIPPIN_VEC int64_t first_of_class(int64_t number) {
  return kParts == 2 && kUnit == 16 ? 2 * number : number;
}
template <int kParts, int64_t kUnit>
PIPPIN_VEC int64_t next_of_class(int64_t unit) {
  if constexpr (kParts == 2 && kUnit == 16)
    return unit % 2 == 0 ? unit + 1 : unit + 2 * kClasses - 1;
  return unit + kClasses;
}

template <typename Sum>
PIPPIN_VEC Sum add_classes(const Sum (&sums)[kClasses]) {
  if constexpr (kClasses == 4) {
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
  } else if constexpr (kClasses == 2) {
    return sums[0] + sums[1];
  } else {
    return sums[0];
  }
}

// The offsets' contributions of a row's blocks are added separately, in kLanes sums in turn. If
// lanes are classes and rows of W, these are four registers: block b is class b % kClasses of
// register b / kClasses % 4. The register that blocks begin with does not matter.
constexpr int kOffsetSums = 4;
template <typename Sum>
PIPPIN_VEC Sum add_offset_sums(Sum a, Sum b, Sum c, Sum d) {
  return (a + c) + (b + d);
}

// A row of W that is one block is scaled after all additions.
PIPPIN_VEC float finish_row(float sum, const float* offset, float x_total, float scale,
                            const float* bias) {
  if (offset != nullptr) sum = __builtin_fmaf(-*offset, x_total, sum);
  return bias != nullptr ? __builtin_fmaf(sum, scale, *bias) : sum * scale;
}
PIPPIN_VEC F finish_row(F sum, const F* offset, F x_total, F scale, const F* bias) {
  if (offset != nullptr) sum = fnma(*offset, x_total, sum);
  return bias != nullptr ? fma(sum, scale, *bias) : sum * scale;
}

}  // namespace
}  // namespace pippin::kernels
