// Fused multiply-adds of fp32 on registers, over the vectors of vec/: an ISA file includes one vec
// header, then this.
#pragma once

#include "pippin/kernels/peak/args.h"

namespace pippin::kernels {
namespace {

// Independent sums: more than the instruction's latency times the units that run it, and no more
// than there are registers.
constexpr int kFloatSums = 12;

float float_dot(int64_t steps) noexcept {
  F sums[kFloatSums];
  for (int i = 0; i < kFloatSums; ++i) sums[i] = set(static_cast<float>(i));
  F a = set(0.5F), b = set(2);
  for (int64_t step = 0; step < steps; ++step) {
    // The compiler must not notice that the factors are constant.
    __asm__ volatile("" : PIPPIN_VEC_REGISTER(a.v), PIPPIN_VEC_REGISTER(b.v));
#pragma GCC unroll 12
    for (int i = 0; i < kFloatSums; ++i) sums[i] = fma(a, b, sums[i]);
  }
  F total = sums[0];
  for (int i = 1; i < kFloatSums; ++i) total = total + sums[i];
  return sum(total);
}

constexpr int64_t kFloatOperations = int64_t{kFloatSums} * kLanes * 2;

}  // namespace
}  // namespace pippin::kernels
