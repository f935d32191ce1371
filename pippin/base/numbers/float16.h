// IEEE 754 binary16 and bfloat16 as storage types: computed as float, rounded to nearest even.
// Plain integer code, the reference for all SIMD conversions.
#pragma once

#include <bit>
#include <cstdint>

namespace pippin {

// IEEE 754 binary16: 1 sign bit, 5 bits of exponent, 10 of fraction.
struct float16 {
  uint16_t bits;  // the sign is the highest bit
};
// The upper half of a float: 1 sign bit, 8 bits of exponent, 7 of fraction.
struct bfloat16 {
  uint16_t bits;  // the sign is the highest bit
};

// Returns the same number as float; exact.
inline float to_float(float16 value) {
  const uint32_t sign = uint32_t{value.bits & 0x8000u} << 16;
  const uint32_t exponent = (value.bits >> 10) & 0x1f;
  const uint32_t fraction = value.bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;  // subnormal or zero, exact
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

// Returns the nearest number, ties to even; infinity from 65520 on.
inline float16 to_float16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {  // NaN stays a quiet NaN
    return {static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu))};
  }
  if (magnitude >= 0x477ff000u) return {static_cast<uint16_t>(sign | 0x7c00u)};  // >= 65520
  if (magnitude < 0x38800000u) {  // below 2^-14: adding 0.5 rounds to multiples of 2^-24, the
                                  // subnormal step
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u))};
  }
  const uint32_t odd = (magnitude >> 13) & 1;
  return {static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13))};
}

// Returns the same number as float; exact.
inline float to_float(bfloat16 value) {
  return std::bit_cast<float>(uint32_t{value.bits} << 16);
}

// Returns the nearest number, ties to even.
inline bfloat16 to_bfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<uint16_t>((bits >> 16) | 0x40u)};
  return {static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16)};
}

}  // namespace pippin
