#include "pippin/kernels/vec/neon.h"
// Must come first: the headers below use these vectors.
#include "pippin/kernels/ggml_blocks/args.h"

namespace pippin::kernels {
namespace {

struct B {
  uint8x16_t low, high;
};

PIPPIN_VEC B load_b(const void* p) {
  const auto* bytes = static_cast<const uint8_t*>(p);
  return {vld1q_u8(bytes), vld1q_u8(bytes + 16)};
}
PIPPIN_VEC B load_b_twice(const void* p) {
  const uint8x16_t bytes = vld1q_u8(static_cast<const uint8_t*>(p));
  return {bytes, bytes};
}
PIPPIN_VEC void store_b(void* p, B x) {
  auto* bytes = static_cast<uint8_t*>(p);
  vst1q_u8(bytes, x.low);
  vst1q_u8(bytes + 16, x.high);
}
PIPPIN_VEC B set_b(uint8_t x) {
  return {vdupq_n_u8(x), vdupq_n_u8(x)};
}
PIPPIN_VEC B operator&(B a, B b) {
  return {vandq_u8(a.low, b.low), vandq_u8(a.high, b.high)};
}
PIPPIN_VEC B operator|(B a, B b) {
  return {vorrq_u8(a.low, b.low), vorrq_u8(a.high, b.high)};
}
PIPPIN_VEC B operator-(B a, B b) {
  return {vsubq_u8(a.low, b.low), vsubq_u8(a.high, b.high)};
}
template <int kBits>
PIPPIN_VEC uint8x16_t shift_16(uint8x16_t x) {
  if constexpr (kBits == 0) {
    return x;
  } else if constexpr (kBits > 0) {
    return vshrq_n_u8(x, kBits);
  } else {
    return vshlq_n_u8(x, -kBits);
  }
}
template <int kBits>
PIPPIN_VEC B shift_b(B x) {
  return {shift_16<kBits>(x.low), shift_16<kBits>(x.high)};
}
PIPPIN_VEC B halves(B low, B high) {
  return {low.low, high.high};
}
PIPPIN_VEC B bits_b(const uint8_t* p) {
  const uint8x16_t places = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));
  return {vtstq_u8(vcombine_u8(vdup_n_u8(p[0]), vdup_n_u8(p[1])), places),
          vtstq_u8(vcombine_u8(vdup_n_u8(p[2]), vdup_n_u8(p[3])), places)};
}
PIPPIN_VEC B look_up_b(const int8_t* table, B codes) {
  const uint8x16_t bytes = vreinterpretq_u8_s8(vld1q_s8(table));
  return {vqtbl1q_u8(bytes, codes.low), vqtbl1q_u8(bytes, codes.high)};
}
PIPPIN_VEC float half(const uint8_t* p) {
  uint16_t bits;
  __builtin_memcpy(&bits, p, sizeof(bits));
  return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(bits))), 0);
}
PIPPIN_VEC F widen(const uint8_t* p) {
  uint32_t word;
  __builtin_memcpy(&word, p, sizeof(word));
  const uint16x8_t words = vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(word)));
  return {vcvtq_f32_u32(vmovl_u16(vget_low_u16(words)))};
}

}  // namespace
}  // namespace pippin::kernels

#include "pippin/kernels/ggml_blocks/vector_unpack.h"

namespace pippin::kernels {

const GgmlBlockKernels ggml_blocks_neon = {"ggml_blocks_neon", unpack};

}  // namespace pippin::kernels
