// The element types of arrays and their promotion.
//
// Promotion follows MLX, a lattice like JAX's: any float wins over any integer without widening
// (int64 with float16 is float16), float16 with bfloat16 is float32, uint64 with a signed type is
// float32, uint32 with a signed type is int64. complex64 is computed slowly (complex.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pippin/base/export.h"
#include "pippin/base/numbers/float16.h"

namespace pippin::mx {

enum class Dtype : uint8_t {
  Bool,
  UInt8,
  UInt16,
  UInt32,
  UInt64,
  Int8,
  Int16,
  Int32,
  Int64,
  Float16,
  Float32,
  Float64,
  BFloat16,
  Complex64,
};
inline constexpr int kNumDtypes = 14;

// NOLINTBEGIN(readability-identifier-naming): as in MLX
inline constexpr Dtype bool_ = Dtype::Bool;
inline constexpr Dtype uint8 = Dtype::UInt8;
inline constexpr Dtype uint16 = Dtype::UInt16;
inline constexpr Dtype uint32 = Dtype::UInt32;
inline constexpr Dtype uint64 = Dtype::UInt64;
inline constexpr Dtype int8 = Dtype::Int8;
inline constexpr Dtype int16 = Dtype::Int16;
inline constexpr Dtype int32 = Dtype::Int32;
inline constexpr Dtype int64 = Dtype::Int64;
inline constexpr Dtype float16 = Dtype::Float16;
inline constexpr Dtype float32 = Dtype::Float32;
inline constexpr Dtype float64 = Dtype::Float64;
inline constexpr Dtype bfloat16 = Dtype::BFloat16;
inline constexpr Dtype complex64 = Dtype::Complex64;

struct complex64_t {
  float real, imag;
};
// NOLINTEND(readability-identifier-naming)

// Groups of types: each is part of the ones above it (generic > number > integer > ...).
enum class DtypeCategory : uint8_t {
  ComplexFloating,
  Floating,
  Inexact,
  SignedInteger,
  UnsignedInteger,
  Integer,
  Number,
  Generic,
};

constexpr size_t size_of(Dtype dtype) {
  constexpr uint8_t kSizes[kNumDtypes] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 8};
  return kSizes[static_cast<int>(dtype)];
}
// "float32", "bool", ...
PIPPIN_API std::string_view to_string(Dtype dtype);
PIPPIN_API std::string_view to_string(DtypeCategory category);

PIPPIN_API Dtype promote_types(Dtype a, Dtype b);
PIPPIN_API bool issubdtype(Dtype dtype, DtypeCategory category);
PIPPIN_API bool issubdtype(DtypeCategory a, DtypeCategory b);
// Whether `from` promotes to `to`: floats never become integers.
PIPPIN_API bool can_cast(Dtype from, Dtype to);

constexpr bool is_floating(Dtype dtype) {
  return dtype == float16 || dtype == float32 || dtype == float64 || dtype == bfloat16;
}
constexpr bool is_inexact(Dtype dtype) {
  return is_floating(dtype) || dtype == complex64;
}
constexpr bool is_unsigned(Dtype dtype) {
  return dtype >= uint8 && dtype <= uint64;
}
constexpr bool is_signed_integer(Dtype dtype) {
  return dtype >= int8 && dtype <= int64;
}
constexpr bool is_integer(Dtype dtype) {
  return dtype >= uint8 && dtype <= int64;
}
// The type itself if it is inexact, otherwise float32.
constexpr Dtype at_least_float(Dtype dtype) {
  return is_inexact(dtype) ? dtype : float32;
}

// The properties of a floating-point type.
struct FloatInfo {
  double min, max, eps, smallest_normal;
};
struct IntegerInfo {
  int64_t min;
  uint64_t max;
};
// Throw InvalidArgument for a type of another kind.
PIPPIN_API FloatInfo finfo(Dtype dtype);
PIPPIN_API IntegerInfo iinfo(Dtype dtype);

// The dtype of a C++ type.
template <typename T>
struct DtypeOf;
template <>
struct DtypeOf<bool> {
  static constexpr Dtype value = bool_;
};
template <>
struct DtypeOf<uint8_t> {
  static constexpr Dtype value = uint8;
};
template <>
struct DtypeOf<uint16_t> {
  static constexpr Dtype value = uint16;
};
template <>
struct DtypeOf<uint32_t> {
  static constexpr Dtype value = uint32;
};
template <>
struct DtypeOf<uint64_t> {
  static constexpr Dtype value = uint64;
};
template <>
struct DtypeOf<int8_t> {
  static constexpr Dtype value = int8;
};
template <>
struct DtypeOf<int16_t> {
  static constexpr Dtype value = int16;
};
template <>
struct DtypeOf<int32_t> {
  static constexpr Dtype value = int32;
};
template <>
struct DtypeOf<int64_t> {
  static constexpr Dtype value = int64;
};
template <>
struct DtypeOf<pippin::float16> {
  static constexpr Dtype value = float16;
};
template <>
struct DtypeOf<float> {
  static constexpr Dtype value = float32;
};
template <>
struct DtypeOf<double> {
  static constexpr Dtype value = float64;
};
template <>
struct DtypeOf<pippin::bfloat16> {
  static constexpr Dtype value = bfloat16;
};
template <>
struct DtypeOf<complex64_t> {
  static constexpr Dtype value = complex64;
};
template <typename T>
// NOLINTNEXTLINE(readability-identifier-naming): used like a function
inline constexpr Dtype dtype_of = DtypeOf<T>::value;

}  // namespace pippin::mx
