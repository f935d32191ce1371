#include "pippin/kernels/vec/avx2.h"
// Must come first: the headers below use these vectors.
#define PIPPIN_VEC_REGISTER(value) "+x"(value)
#include "pippin/kernels/peak/vectors.h"

namespace pippin::kernels {
namespace {

constexpr int kSums = 8;
constexpr int64_t kOperations = int64_t{kSums} * 32 * 2;

// Adds pairs of products in 16 bits, the cheapest way in AVX2: quantized_dot does so with 4-bit
// codes.
int32_t int8_dot(int64_t steps) noexcept {
  __m256i sums[kSums];
  for (int i = 0; i < kSums; ++i) sums[i] = _mm256_set1_epi16(static_cast<int16_t>(i));
  __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(5);
  for (int64_t step = 0; step < steps; ++step) {
    // The compiler must not notice that the factors are constant.
    __asm__ volatile("" : "+x"(a), "+x"(b));
#pragma GCC unroll 8
    for (int i = 0; i < kSums; ++i) {
      sums[i] = _mm256_add_epi16(sums[i], _mm256_maddubs_epi16(a, b));
      __asm__ volatile("" : "+x"(a));
    }
  }
  __m256i total = _mm256_setzero_si256();
  for (int i = 0; i < kSums; ++i) {
    total = _mm256_add_epi32(total, _mm256_madd_epi16(sums[i], _mm256_set1_epi16(1)));
  }
  alignas(32) int32_t lanes[8];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), total);
  int32_t result = 0;
  for (const int32_t lane : lanes) result += lane;
  return result;
}

}  // namespace

const PeakKernel peak_avx2 = {"avx2", kOperations, int8_dot};
const FloatPeakKernel peak_f32_avx2 = {"avx2", kFloatOperations, float_dot};

}  // namespace pippin::kernels
