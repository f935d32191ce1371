#include <immintrin.h>

#include "pippin/kernels/peak/args.h"

namespace pippin::kernels {
namespace {

// Independent sums: more than the instruction's latency times the units that run it.
constexpr int kSums = 16;
constexpr int64_t kOperations = int64_t{kSums} * 64 * 2;

int32_t int8_dot(int64_t steps) noexcept {
  __m512i sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = _mm512_set1_epi32(i);
  __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5);
  for (int64_t step = 0; step < steps; ++step) {
    // The compiler must not notice that the factors are constant.
    __asm__ volatile("" : "+v"(a), "+v"(b));
#pragma GCC unroll 16
    for (int i = 0; i < kSums; ++i) sums[i] = _mm512_dpbusd_epi32(sums[i], a, b);
  }
  for (int i = 1; i < kSums; ++i) sums[0] = _mm512_add_epi32(sums[0], sums[i]);
  return _mm512_reduce_add_epi32(sums[0]);
}

}  // namespace

const PeakKernel peak_avx512vnni = {"avx512vnni", kOperations, int8_dot};

}  // namespace pippin::kernels
