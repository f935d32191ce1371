// Elements of all storages.
#pragma once

#include "pippin/cuda/kernels/element.h"
#include "pippin/cuda/kernels/machine.h"

namespace pippin::cuda {

// To nearest, ties to even.
DEVICE uint16_t float_to_bfloat_bits(float x) {
  const uint32_t bits = float_to_bits(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}
// Towards zero; saturates; NaN gives 0.
DEVICE int32_t float_to_integer(float x) {
  if (x != x) return 0;
  if (x >= 2147483648.0f) return 0x7fffffff;
  if (x <= -2147483648.0f) return -0x7fffffff - 1;
  return static_cast<int32_t>(x);
}

// An element of any storage: its float, or, of integers and bools, both.
struct Number {
  float real;
  int32_t integer;
};
DEVICE Number read_number(Element storage, const void* from, int64_t i) {
  switch (storage) {
    case Element::F32:
      return {static_cast<const float*>(from)[i], 0};
    case Element::F16:
      return {half_to_float(static_cast<const uint16_t*>(from)[i]), 0};
    case Element::BF16:
      return {bfloat_to_float(static_cast<const uint16_t*>(from)[i]), 0};
    case Element::I32: {
      const int32_t x = static_cast<const int32_t*>(from)[i];
      return {static_cast<float>(x), x};
    }
    default: {
      const int32_t x = static_cast<const uint8_t*>(from)[i] != 0 ? 1 : 0;
      return {static_cast<float>(x), x};
    }
  }
}
DEVICE void write_number(Element storage, void* to, int64_t i, Element from, const Number& x) {
  const bool is_float = from != Element::I32 && from != Element::Bool;
  switch (storage) {
    case Element::F32:
      static_cast<float*>(to)[i] = x.real;
      break;
    case Element::F16:
      static_cast<uint16_t*>(to)[i] = float_to_half(x.real);
      break;
    case Element::BF16:
      static_cast<uint16_t*>(to)[i] = float_to_bfloat_bits(x.real);
      break;
    case Element::I32:
      static_cast<int32_t*>(to)[i] = is_float ? float_to_integer(x.real) : x.integer;
      break;
    default:
      static_cast<uint8_t*>(to)[i] = is_float ? x.real != 0 : x.integer != 0;
      break;
  }
}

}  // namespace pippin::cuda
