// 8-bit codes of elementwise.h, over the vectors and mathematics of the includer.
#pragma once

#include "pippin/kernels/elementwise/args.h"

namespace pippin::kernels {
namespace {

class Levels {
 public:
  explicit PIPPIN_VEC Levels(const CodeScale& of)
      : scale_(set(of.scale)),
        direction_(set(of.scale < 0 ? -1.0f : 1.0f)),
        lowest_(set(static_cast<float>(of.lowest - of.zero))),
        highest_(set(static_cast<float>(of.lowest - of.zero + 255))),
        of_nan_(set(static_cast<float>(-of.zero))) {}

  // The code of x minus zero.
  PIPPIN_VEC F of(F x) const {
    const F quotient = x / scale_, near = round(quotient);
    // If rounding made the quotient halfway, the remainder shows on which side it is.
    const F rest = fnma(quotient, scale_, x) * direction_, half = set(0.5f);
    const M exact = rest == set(0);
    const F level =
        select((abs(quotient - near) == half) & ~exact, quotient + copy_sign(half, rest), near);
    const F limited = select(quotient == quotient, min(highest_, max(lowest_, level)), of_nan_);
    return limited + set(0);  // avoids negative zero
  }
  PIPPIN_VEC F meaning(F level) const { return level * scale_; }

 private:
  F scale_, direction_, lowest_, highest_, of_nan_;
};

void quantize(const float* x, int32_t* y, int64_t n, const CodeScale& scale) noexcept {
  const Levels levels(scale);
  const I zero = set_i(scale.zero);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store_i(y + i, to_int(levels.of(load(x + i))) + zero);
  if (i < n) store_part_i(y + i, to_int(levels.of(load_part(x + i, n - i))) + zero, n - i);
}

void dequantize(const int32_t* x, float* y, int64_t n, const CodeScale& scale) noexcept {
  const Levels levels(scale);
  const F zero = set(static_cast<float>(scale.zero));
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    store(y + i, levels.meaning(to_float(load_i(x + i)) - zero));
  }
  if (i < n) store_part(y + i, levels.meaning(to_float(load_part_i(x + i, n - i)) - zero), n - i);
}

void round_to_codes(const float* x, float* y, int64_t n, const CodeScale& scale) noexcept {
  const Levels levels(scale);
  map(x, y, n, [=](F v) { return levels.meaning(levels.of(v)); });
}

PIPPIN_VEC I paired(I low, I high) {
  return (low & set_i(0xffff)) | shift_left<16>(high);
}

void pair_codes(const float* a, const float* b, int32_t* y, int64_t n,
                const CodeScale& scale) noexcept {
  const Levels levels(scale);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const I high = b != nullptr ? to_int(levels.of(load(b + i))) : set_i(0);
    store_i(y + i, paired(to_int(levels.of(load(a + i))), high));
  }
  if (i == n) return;
  const I high = b != nullptr ? to_int(levels.of(load_part(b + i, n - i))) : set_i(0);
  store_part_i(y + i, paired(to_int(levels.of(load_part(a + i, n - i))), high), n - i);
}

}  // namespace
}  // namespace pippin::kernels
