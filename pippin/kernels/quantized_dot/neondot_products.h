// The products of vector_kernels.h by sdot (FEAT_DotProd).
#pragma once

#include "pippin/kernels/quantized_dot/neon_bytes.h"

namespace pippin::kernels {
namespace {

constexpr bool kSignedBytes = true;
constexpr int kTileRows = 4;

PIPPIN_VEC I dot4(I sum, B w, B x) {
  return {vdotq_s32(sum.v, signed_bytes(w), signed_bytes(x))};
}

}  // namespace
}  // namespace pippin::kernels

#include "pippin/kernels/quantized_dot/vector_products.h"
