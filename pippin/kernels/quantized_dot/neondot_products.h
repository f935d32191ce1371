// The products of vector_kernels.h by sdot (FEAT_DotProd).
#pragma once

#include "pippin/kernels/quantized_dot/neon_bytes.h"

namespace pippin::kernels {
namespace {

constexpr bool kSignedBytes = true;
constexpr int kTileRows = 3;

using Wide = B;
PIPPIN_VEC Wide wide(B w) {
  return w;
}
PIPPIN_VEC I dot4(I sum, Wide w, B x) {
  return {vdotq_s32(sum.v, signed_bytes(w), signed_bytes(x))};
}

struct NibbleSum {
  int32x4_t sum;
  PIPPIN_VEC void start(B w, B x) {
    sum = vdotq_s32(vdupq_n_s32(0), signed_bytes(w), signed_bytes(x));
  }
  PIPPIN_VEC void add(B w, B x) { sum = vdotq_s32(sum, signed_bytes(w), signed_bytes(x)); }
  PIPPIN_VEC I total(I start) const { return {vaddq_s32(sum, start.v)}; }
};

}  // namespace
}  // namespace pippin::kernels
