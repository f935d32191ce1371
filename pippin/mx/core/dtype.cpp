#include "pippin/mx/core/dtype.h"

#include <algorithm>
#include <limits>

#include "pippin/base/error.h"

namespace pippin::mx {
namespace {

constexpr std::string_view kNames[kNumDtypes] = {
    "bool",  "uint8", "uint16",  "uint32",  "uint64",  "int8",     "int16",
    "int32", "int64", "float16", "float32", "float64", "bfloat16", "complex64"};

constexpr std::string_view kCategoryNames[] = {"complexfloating", "floating",        "inexact",
                                               "signedinteger",   "unsignedinteger", "integer",
                                               "number",          "generic"};

Dtype signed_of(size_t bytes) {
  return bytes == 1 ? int8 : bytes == 2 ? int16 : bytes == 4 ? int32 : int64;
}

DtypeCategory category_of(Dtype dtype) {
  if (dtype == complex64) return DtypeCategory::ComplexFloating;
  if (is_floating(dtype)) return DtypeCategory::Floating;
  if (is_unsigned(dtype)) return DtypeCategory::UnsignedInteger;
  if (is_signed_integer(dtype)) return DtypeCategory::SignedInteger;
  return DtypeCategory::Generic;  // bool is not a number
}

template <typename T>
IntegerInfo limits() {
  return {static_cast<int64_t>(std::numeric_limits<T>::min()),
          static_cast<uint64_t>(std::numeric_limits<T>::max())};
}

}  // namespace

std::string_view to_string(Dtype dtype) {
  return kNames[static_cast<int>(dtype)];
}

std::string_view to_string(DtypeCategory category) {
  return kCategoryNames[static_cast<int>(category)];
}

Dtype promote_types(Dtype a, Dtype b) {
  if (a == b || b == bool_) return a;
  if (a == bool_) return b;
  if (a == complex64 || b == complex64) return complex64;
  if (is_floating(a) || is_floating(b)) {
    if (!is_floating(a)) return b;
    if (!is_floating(b)) return a;
    if (a == float64 || b == float64) return float64;
    return float32;  // differing types of at most 32 bits
  }
  if (is_unsigned(a) == is_unsigned(b)) return size_of(a) >= size_of(b) ? a : b;
  const Dtype plain = is_unsigned(a) ? a : b;
  const Dtype with_sign = is_unsigned(a) ? b : a;
  if (plain == uint64) return float32;
  return signed_of(std::max(size_of(with_sign), 2 * size_of(plain)));
}

bool issubdtype(DtypeCategory a, DtypeCategory b) {
  if (a == b || b == DtypeCategory::Generic) return true;
  switch (b) {
    case DtypeCategory::Inexact:
      return a == DtypeCategory::ComplexFloating || a == DtypeCategory::Floating;
    case DtypeCategory::Integer:
      return a == DtypeCategory::SignedInteger || a == DtypeCategory::UnsignedInteger;
    case DtypeCategory::Number:
      return a != DtypeCategory::Generic;
    default:
      return false;
  }
}

bool issubdtype(Dtype dtype, DtypeCategory category) {
  return issubdtype(category_of(dtype), category);
}

bool can_cast(Dtype from, Dtype to) {
  return promote_types(from, to) == to;
}

FloatInfo finfo(Dtype dtype) {
  switch (dtype) {
    case float16:
      return {-65504, 65504, 0x1p-10, 0x1p-14};
    case bfloat16:
      return {-0x1.fep127, 0x1.fep127, 0x1p-7, 0x1p-126};
    case float32:
    case complex64:
      return {-0x1.fffffep127, 0x1.fffffep127, 0x1p-23, 0x1p-126};
    case float64:
      return {std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max(), 0x1p-52,
              0x1p-1022};
    default:
      fail(ErrorCode::InvalidArgument, "finfo: {} is not a floating-point type", to_string(dtype));
  }
}

IntegerInfo iinfo(Dtype dtype) {
  switch (dtype) {
    case uint8:
      return limits<uint8_t>();
    case uint16:
      return limits<uint16_t>();
    case uint32:
      return limits<uint32_t>();
    case uint64:
      return limits<uint64_t>();
    case int8:
      return limits<int8_t>();
    case int16:
      return limits<int16_t>();
    case int32:
      return limits<int32_t>();
    case int64:
      return limits<int64_t>();
    default:
      fail(ErrorCode::InvalidArgument, "iinfo: {} is not an integer type", to_string(dtype));
  }
}

}  // namespace pippin::mx
