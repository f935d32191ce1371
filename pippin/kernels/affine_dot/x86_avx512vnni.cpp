#include "pippin/kernels/affine_dot/avx512_words.h"

namespace pippin::kernels {
namespace {

PIPPIN_VEC W low_nibbles(W words) {
  return {_mm512_and_si512(words.v, _mm512_set1_epi8(15))};
}
PIPPIN_VEC W high_nibbles(W words) {
  return {_mm512_and_si512(_mm512_srli_epi16(words.v, 4), _mm512_set1_epi8(15))};
}
PIPPIN_VEC I dot_bytes(I sum, W codes, const int8_t* x) {
  return {_mm512_dpbusd_epi32(sum.v, codes.v, _mm512_loadu_si512(x))};
}

}  // namespace
}  // namespace pippin::kernels

#include "pippin/kernels/affine_dot/fixed_point.h"

namespace pippin::kernels {

const AffineDotKernels affine_dot_avx512vnni = {"affine_dot_avx512vnni", dot_fixed, expand, 16,
                                                fix};

}  // namespace pippin::kernels
