// The vectors of avx2.h for AArch64 Advanced SIMD, which every AArch64 has.
#pragma once

#include <cstdint>

#include <arm_neon.h>

#include "pippin/kernels/vec/inline.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kLanes = 4;
constexpr bool kManyRegisters = true;

struct F {
  float32x4_t v;
};
struct I {
  int32x4_t v;
};
struct M {
  uint32x4_t v;
};
struct F4 {
  float32x4_t v;
};

PIPPIN_VEC F set(float x) {
  return {vdupq_n_f32(x)};
}
PIPPIN_VEC I set_i(int32_t x) {
  return {vdupq_n_s32(x)};
}
PIPPIN_VEC F load(const float* p) {
  return {vld1q_f32(p)};
}
PIPPIN_VEC F load_part(const float* p, int64_t n) {
  float copy[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) copy[i] = p[i];
  return load(copy);
}
PIPPIN_VEC void store(float* p, F x) {
  vst1q_f32(p, x.v);
}
PIPPIN_VEC void store_part(float* p, F x, int64_t n) {
  float copy[kLanes];
  store(copy, x);
  for (int64_t i = 0; i < n; ++i) p[i] = copy[i];
}
PIPPIN_VEC I load_i(const int32_t* p) {
  return {vld1q_s32(p)};
}
PIPPIN_VEC I load_part_i(const int32_t* p, int64_t n) {
  int32_t copy[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) copy[i] = p[i];
  return load_i(copy);
}
PIPPIN_VEC void store_i(int32_t* p, I x) {
  vst1q_s32(p, x.v);
}
PIPPIN_VEC void store_part_i(int32_t* p, I x, int64_t n) {
  int32_t copy[kLanes];
  store_i(copy, x);
  for (int64_t i = 0; i < n; ++i) p[i] = copy[i];
}

PIPPIN_VEC F operator+(F a, F b) {
  return {vaddq_f32(a.v, b.v)};
}
PIPPIN_VEC F operator-(F a, F b) {
  return {vsubq_f32(a.v, b.v)};
}
PIPPIN_VEC F operator*(F a, F b) {
  return {vmulq_f32(a.v, b.v)};
}
PIPPIN_VEC F operator/(F a, F b) {
  return {vdivq_f32(a.v, b.v)};
}
PIPPIN_VEC F fma(F a, F b, F c) {
  return {vfmaq_f32(c.v, a.v, b.v)};
}
PIPPIN_VEC F fnma(F a, F b, F c) {
  return {vfmsq_f32(c.v, a.v, b.v)};
}
PIPPIN_VEC F sqrt(F x) {
  return {vsqrtq_f32(x.v)};
}
PIPPIN_VEC F floor(F x) {
  return {vrndmq_f32(x.v)};
}
PIPPIN_VEC F ceil(F x) {
  return {vrndpq_f32(x.v)};
}
PIPPIN_VEC F round(F x) {
  return {vrndnq_f32(x.v)};
}

PIPPIN_VEC M operator<(F a, F b) {
  return {vcltq_f32(a.v, b.v)};
}
PIPPIN_VEC M operator<=(F a, F b) {
  return {vcleq_f32(a.v, b.v)};
}
PIPPIN_VEC M operator==(F a, F b) {
  return {vceqq_f32(a.v, b.v)};
}
PIPPIN_VEC M operator<(I a, I b) {
  return {vcltq_s32(a.v, b.v)};
}
PIPPIN_VEC M operator==(I a, I b) {
  return {vceqq_s32(a.v, b.v)};
}
PIPPIN_VEC M operator~(M m) {
  return {vmvnq_u32(m.v)};
}
PIPPIN_VEC M operator&(M a, M b) {
  return {vandq_u32(a.v, b.v)};
}
PIPPIN_VEC bool any(M m) {
  return vmaxvq_u32(m.v) != 0;
}
PIPPIN_VEC F select(M m, F a, F b) {
  return {vbslq_f32(m.v, a.v, b.v)};
}
PIPPIN_VEC I select(M m, I a, I b) {
  return {vbslq_s32(m.v, a.v, b.v)};
}
PIPPIN_VEC F min(F a, F b) {
  return select(a < b, a, b);
}
PIPPIN_VEC F max(F a, F b) {
  return select(b < a, a, b);
}
PIPPIN_VEC void store_mask(uint8_t* p, M m) {
  uint32_t copy[kLanes];
  vst1q_u32(copy, vandq_u32(m.v, vdupq_n_u32(1)));
  for (int64_t i = 0; i < kLanes; ++i) p[i] = static_cast<uint8_t>(copy[i]);
}
PIPPIN_VEC M load_mask(const uint8_t* p) {
  const uint32_t copy[kLanes] = {p[0], p[1], p[2], p[3]};
  const uint32x4_t words = vld1q_u32(copy);
  return {vtstq_u32(words, words)};
}

PIPPIN_VEC I operator+(I a, I b) {
  return {vaddq_s32(a.v, b.v)};
}
PIPPIN_VEC I operator-(I a, I b) {
  return {vsubq_s32(a.v, b.v)};
}
PIPPIN_VEC I operator*(I a, I b) {
  return {vmulq_s32(a.v, b.v)};
}
PIPPIN_VEC I operator&(I a, I b) {
  return {vandq_s32(a.v, b.v)};
}
PIPPIN_VEC I operator|(I a, I b) {
  return {vorrq_s32(a.v, b.v)};
}
PIPPIN_VEC I operator^(I a, I b) {
  return {veorq_s32(a.v, b.v)};
}
PIPPIN_VEC I min(I a, I b) {
  return {vminq_s32(a.v, b.v)};
}
PIPPIN_VEC I max(I a, I b) {
  return {vmaxq_s32(a.v, b.v)};
}
template <int kBits>
PIPPIN_VEC I shift_left(I x) {
  return {vshlq_n_s32(x.v, kBits)};
}
template <int kBits>
PIPPIN_VEC I shift_right(I x) {
  return {vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_s32(x.v), kBits))};
}
template <int kBits>
PIPPIN_VEC I shift_right_signed(I x) {
  return {vshrq_n_s32(x.v, kBits)};
}
PIPPIN_VEC I bits(F x) {
  return {vreinterpretq_s32_f32(x.v)};
}
PIPPIN_VEC F floats(I x) {
  return {vreinterpretq_f32_s32(x.v)};
}
PIPPIN_VEC I to_int(F x) {
  return {vcvtnq_s32_f32(x.v)};
}
PIPPIN_VEC I truncate(F x) {
  return {vcvtq_s32_f32(x.v)};
}
PIPPIN_VEC F to_float(I x) {
  return {vcvtq_f32_s32(x.v)};
}
// In two steps: 2^n itself may be out of range even if the product is not.
PIPPIN_VEC F times_power_of_two(F x, F n) {
  const I whole = to_int(n);
  const I half = shift_right_signed<1>(whole);
  const F first = floats(shift_left<23>(half + set_i(127)));
  const F second = floats(shift_left<23>(whole - half + set_i(127)));
  return x * first * second;
}

PIPPIN_VEC F load_f16(const uint16_t* p) {
  return {vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)))};
}
PIPPIN_VEC F load_part_f16(const uint16_t* p, int64_t n) {
  uint16_t copy[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) copy[i] = p[i];
  return load_f16(copy);
}
PIPPIN_VEC void store_f16(uint16_t* p, F x) {
  vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(x.v)));
}
PIPPIN_VEC F load_bf16(const uint16_t* p) {
  return {vreinterpretq_f32_u32(vshlq_n_u32(vmovl_u16(vld1_u16(p)), 16))};
}
PIPPIN_VEC F load_part_bf16(const uint16_t* p, int64_t n) {
  uint16_t copy[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) copy[i] = p[i];
  return load_bf16(copy);
}
PIPPIN_VEC void store_low_halves(uint16_t* p, I x) {
  vst1_u16(p, vmovn_u32(vreinterpretq_u32_s32(x.v)));
}
PIPPIN_VEC void store_low_bytes(uint8_t* p, I x) {
  const uint16x4_t halves = vmovn_u32(vreinterpretq_u32_s32(x.v));
  const uint8x8_t bytes = vmovn_u16(vcombine_u16(halves, halves));
  vst1_lane_u32(reinterpret_cast<uint32_t*>(p), vreinterpret_u32_u8(bytes), 0);
}

// The sums over the lanes of a, b, c and d.
PIPPIN_VEC F4 sum4(F a, F b, F c, F d) {
  return {vpaddq_f32(vpaddq_f32(a.v, b.v), vpaddq_f32(c.v, d.v))};
}
PIPPIN_VEC F4 set4(float x) {
  return {vdupq_n_f32(x)};
}
PIPPIN_VEC F4 load4(const float* p) {
  return {vld1q_f32(p)};
}
PIPPIN_VEC F repeat_four(const float* p) {
  return load(p);
}
PIPPIN_VEC void store4(float* p, F4 x) {
  vst1q_f32(p, x.v);
}
PIPPIN_VEC F4 operator+(F4 a, F4 b) {
  return {vaddq_f32(a.v, b.v)};
}
PIPPIN_VEC F4 operator*(F4 a, F4 b) {
  return {vmulq_f32(a.v, b.v)};
}

// Transposes the rows.
PIPPIN_VEC void transpose(F (&x)[kLanes]) {
  const float64x2_t a = vreinterpretq_f64_f32(vtrn1q_f32(x[0].v, x[1].v));
  const float64x2_t b = vreinterpretq_f64_f32(vtrn2q_f32(x[0].v, x[1].v));
  const float64x2_t c = vreinterpretq_f64_f32(vtrn1q_f32(x[2].v, x[3].v));
  const float64x2_t d = vreinterpretq_f64_f32(vtrn2q_f32(x[2].v, x[3].v));
  x[0] = {vreinterpretq_f32_f64(vzip1q_f64(a, c))};
  x[1] = {vreinterpretq_f32_f64(vzip1q_f64(b, d))};
  x[2] = {vreinterpretq_f32_f64(vzip2q_f64(a, c))};
  x[3] = {vreinterpretq_f32_f64(vzip2q_f64(b, d))};
}

PIPPIN_VEC float sum(F x) {
  return vaddvq_f32(x.v);
}
PIPPIN_VEC float max_lane(F x) {
  return vmaxnmvq_f32(x.v);
}
PIPPIN_VEC float min_lane(F x) {
  return vminnmvq_f32(x.v);
}

}  // namespace
}  // namespace pippin::kernels
