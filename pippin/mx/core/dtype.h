// The element types of arrays and their promotion.
//
// Promotion follows MLX, a lattice like JAX's: any float wins over any integer without widening
// (int64 with float16 is float16), float16 with bfloat16 is float32, uint64 with a signed type is
// float32, uint32 with a signed type is int64. complex64 is computed slowly (complex.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "pippin/base/export.h"
#include "pippin/base/numbers/float16.h"

namespace pippin::mx {

// The element types: bool, integers of 8 to 64 bits, floats of 16 to 64 bits and complex64, two
// float32.
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
inline constexpr int kNumDtypes = 14;  // the number of element types

// The element types under MLX's names:
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

// An element of complex64.
struct complex64_t {
  float real, imag;  // the two parts
};
// NOLINTEND(readability-identifier-naming)

// Groups of types: each is part of the ones above it (generic > number > integer > signed,
// unsigned; number > inexact > floating, complex).
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

// Returns the bytes of an element.
constexpr size_t size_of(Dtype dtype) {
  constexpr uint8_t kSizes[kNumDtypes] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 8};
  return kSizes[static_cast<int>(dtype)];
}
// Returns the name: "float32", "bool", "signedinteger" ...
PIPPIN_API std::string_view to_string(Dtype dtype);
PIPPIN_API std::string_view to_string(DtypeCategory category);

// Returns the type of an operation on both, by the rules above.
PIPPIN_API Dtype promote_types(Dtype a, Dtype b);
// Returns whether a type or category belongs to a category. bool belongs to generic only.
PIPPIN_API bool issubdtype(Dtype dtype, DtypeCategory category);
PIPPIN_API bool issubdtype(DtypeCategory a, DtypeCategory b);
// Returns whether `from` promotes to `to`: floats never become integers.
PIPPIN_API bool can_cast(Dtype from, Dtype to);

// Returns whether the type is float16, bfloat16, float32 or float64.
constexpr bool is_floating(Dtype dtype) {
  return dtype == float16 || dtype == float32 || dtype == float64 || dtype == bfloat16;
}
// Returns whether the type is a float or complex64.
constexpr bool is_inexact(Dtype dtype) {
  return is_floating(dtype) || dtype == complex64;
}
// Returns whether the type is an unsigned integer.
constexpr bool is_unsigned(Dtype dtype) {
  return dtype >= uint8 && dtype <= uint64;
}
// Returns whether the type is a signed integer.
constexpr bool is_signed_integer(Dtype dtype) {
  return dtype >= int8 && dtype <= int64;
}
// Returns whether the type is an integer; bool is not.
constexpr bool is_integer(Dtype dtype) {
  return dtype >= uint8 && dtype <= int64;
}
// Returns the type itself if it is inexact, otherwise float32.
constexpr Dtype at_least_float(Dtype dtype) {
  return is_inexact(dtype) ? dtype : float32;
}

// The properties of a floating-point type.
struct FloatInfo {
  // The lowest and the largest finite number, the step from 1 to the next number, and the smallest
  // positive number of full precision.
  double min, max, eps, smallest_normal;
};
// The properties of an integer type.
struct IntegerInfo {
  int64_t min;   // the smallest number
  uint64_t max;  // the largest number
};
// Returns the properties of a floating-point type; for complex64, those of float32. Throws
// InvalidArgument for other types.
PIPPIN_API FloatInfo finfo(Dtype dtype);
// Returns the properties of an integer type. Throws InvalidArgument for other types.
PIPPIN_API IntegerInfo iinfo(Dtype dtype);

// The dtype of a C++ type.
template <typename T>
struct DtypeOf;
template <>
struct DtypeOf<bool> : std::integral_constant<Dtype, bool_> {};
template <>
struct DtypeOf<uint8_t> : std::integral_constant<Dtype, uint8> {};
template <>
struct DtypeOf<uint16_t> : std::integral_constant<Dtype, uint16> {};
template <>
struct DtypeOf<uint32_t> : std::integral_constant<Dtype, uint32> {};
template <>
struct DtypeOf<uint64_t> : std::integral_constant<Dtype, uint64> {};
template <>
struct DtypeOf<int8_t> : std::integral_constant<Dtype, int8> {};
template <>
struct DtypeOf<int16_t> : std::integral_constant<Dtype, int16> {};
template <>
struct DtypeOf<int32_t> : std::integral_constant<Dtype, int32> {};
template <>
struct DtypeOf<int64_t> : std::integral_constant<Dtype, int64> {};
template <>
struct DtypeOf<pippin::float16> : std::integral_constant<Dtype, float16> {};
template <>
struct DtypeOf<float> : std::integral_constant<Dtype, float32> {};
template <>
struct DtypeOf<double> : std::integral_constant<Dtype, float64> {};
template <>
struct DtypeOf<pippin::bfloat16> : std::integral_constant<Dtype, bfloat16> {};
template <>
struct DtypeOf<complex64_t> : std::integral_constant<Dtype, complex64> {};
// The dtype of a C++ type.
template <typename T>
// NOLINTNEXTLINE(readability-identifier-naming): used like a function
inline constexpr Dtype dtype_of = DtypeOf<T>::value;

}  // namespace pippin::mx
