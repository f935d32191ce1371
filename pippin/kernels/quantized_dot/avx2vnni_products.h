// The products of bytes.h by vpdpbusd on 256 bits, which AVX-VNNI and AVX-512 VNNI with VL encode
// each in its own way.
#pragma once

#include "pippin/kernels/quantized_dot/avx2_bytes.h"

namespace pippin::kernels {
namespace {

constexpr bool kSignedBytes = false;

PIPPIN_VEC __m256i dot_bytes(__m256i sum, __m256i w, __m256i x) {
#if defined(__AVXVNNI__)
  return _mm256_dpbusd_avx_epi32(sum, w, x);
#else
  return _mm256_dpbusd_epi32(sum, w, x);
#endif
}
#if defined(__AVXVNNI__)
constexpr int kTileRows = 4;
#else
constexpr int kTileRows = 6;  // 32 registers
#endif

PIPPIN_VEC I dot4(I sum, B w, B x) {
  return {dot_bytes(sum.v, w.v, x.v)};
}

}  // namespace
}  // namespace pippin::kernels

#include "pippin/kernels/quantized_dot/vector_products.h"
