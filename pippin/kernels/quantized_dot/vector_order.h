// The order in which the products of a row of x with a row of W are added up, over the vectors of
// the includer. It is the same for any number of rows and wherever the codes come from, so that
// results have the same bits.
//
// The products of a unit of columns are added as integers, which is exact. Scaled, they are added
// in fp32 to one of kClasses sums, in turns: a register that holds four rows of W has a lane for
// each of them and each class (vector_few.h). Where a lane is a row of W, classes are registers
// (vector_tiles.h).
#pragma once

#include "pippin/kernels/quantized_dot/args.h"
#include "pippin/kernels/vec/inline.h"

namespace pippin::kernels {
namespace {

constexpr int kClasses = static_cast<int>(kLanes / 4);

// QuantizedRows::behind: the fours of neighbouring registers of bytes have the same units.
constexpr int64_t kBehind = kByteLanes;

// The units of a class, from its first on. Of nibbles in units of 16 columns two neighbours lie in
// the same four lanes.
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

// The offsets' share of several blocks of a row is added up apart, in kLanes sums in turns. Where
// lanes are classes and rows of W they are four registers: block b's is class b % kClasses of
// register b / kClasses % 4. With which register blocks begin does not matter.
constexpr int kOffsetSums = 4;
template <typename Sum>
PIPPIN_VEC Sum add_offset_sums(Sum a, Sum b, Sum c, Sum d) {
  return (a + c) + (b + d);
}

// A row of W that is one block is scaled when all is added up.
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
