// Functions shared by AVX2 and NEON, over the bytes of the includer: loads are of whole registers,
// and codes have no other bits above them.
#pragma once

#include <cstdint>

#include "pippin/kernels/vec/inline.h"

namespace pippin::kernels {
namespace {

constexpr bool kPartLoads = false;

PIPPIN_VEC B load_bytes(const void* p, int64_t) {
  return load_bytes(p);
}
PIPPIN_VEC void cut_nibbles(B x, uint8_t mask, B& low, B& high) {
  const B codes = flip(x, mask);
  low = low_nibbles(codes);
  high = high_nibbles(codes);
}
template <int kBits>
PIPPIN_VEC B unpack_loose(const uint8_t* p, int64_t) {
  return unpack<kBits>(p);
}
PIPPIN_VEC B loose_low(B x) {
  return low_nibbles(x);
}
PIPPIN_VEC B loose_high(B x) {
  return high_nibbles(x);
}

}  // namespace
}  // namespace pippin::kernels
