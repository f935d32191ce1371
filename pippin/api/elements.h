// Element types as C++ types, conversions between them, and strided elements.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "pippin/api/tensor.h"
#include "pippin/base/error.h"
#include "pippin/base/numbers/float16.h"

namespace pippin::elements {

// Calls body(std::type_identity<T>()) with the C++ type of a numeric element type; bools are
// uint8_t.
template <typename Body>
decltype(auto) with_type(DataType type, Body&& body) {
  switch (type) {
    case DataType::Bool:
    case DataType::UInt8:
      return body(std::type_identity<uint8_t>());
    case DataType::Int8:
      return body(std::type_identity<int8_t>());
    case DataType::Int16:
      return body(std::type_identity<int16_t>());
    case DataType::UInt16:
      return body(std::type_identity<uint16_t>());
    case DataType::Int32:
      return body(std::type_identity<int32_t>());
    case DataType::UInt32:
      return body(std::type_identity<uint32_t>());
    case DataType::Int64:
      return body(std::type_identity<int64_t>());
    case DataType::UInt64:
      return body(std::type_identity<uint64_t>());
    case DataType::Float16:
      return body(std::type_identity<float16>());
    case DataType::Float32:
      return body(std::type_identity<float>());
    case DataType::Float64:
      return body(std::type_identity<double>());
    case DataType::String:
      break;
  }
  fail(ErrorCode::InvalidArgument, "strings are not numbers");
}

inline float16 round_to_float16(double value) {
  // A conversion through float would round twice. The float rounded toward zero, with its last bit
  // set if inexact ("round to odd"), rounds to the correct half.
  float narrow = static_cast<float>(value);
  if (static_cast<double>(narrow) != value && std::isfinite(narrow)) {
    if (std::abs(static_cast<double>(narrow)) > std::abs(value)) {
      narrow = std::nextafter(narrow, 0.0f);
    }
    narrow = std::bit_cast<float>(std::bit_cast<uint32_t>(narrow) | 1);
  }
  return to_float16(narrow);
}

// The first number beyond an integer type, which is exact even if its largest is not.
template <typename T>
constexpr double kEnd = 2.0 * static_cast<double>(std::numeric_limits<T>::max() / 2 + 1);

// Whether the two are equal as numbers.
template <typename Float, typename Integer>
bool same(Float number, Integer integer) {
  const auto wide = static_cast<double>(number);
  return wide >= static_cast<double>(std::numeric_limits<Integer>::min()) && wide < kEnd<Integer> &&
         static_cast<Integer>(number) == integer && static_cast<Float>(integer) == number;
}

// The nearest value of To; integers saturate, and NaN becomes 0 there.
template <typename To, typename From>
To nearest(From from) {
  if constexpr (std::is_same_v<From, float16>) {
    return nearest<To>(to_float(from));
  } else if constexpr (std::is_same_v<To, float16>) {
    return round_to_float16(static_cast<double>(from));
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(from);
  } else if constexpr (std::is_floating_point_v<From>) {
    const double whole = std::trunc(static_cast<double>(from));
    if (whole >= kEnd<To>) return std::numeric_limits<To>::max();
    if (whole < static_cast<double>(std::numeric_limits<To>::min())) {
      return std::numeric_limits<To>::min();
    }
    return std::isnan(whole) ? To{0} : static_cast<To>(whole);
  } else {
    if (std::cmp_less(from, std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (std::cmp_greater(from, std::numeric_limits<To>::max()))
      return std::numeric_limits<To>::max();
    return static_cast<To>(from);
  }
}

// Whether `to`, converted from `from`, satisfies Tensor::to()'s guarantee.
template <typename To, typename From>
bool keeps(From from, To to) {
  if constexpr (std::is_same_v<From, float16>) {
    return keeps(to_float(from), to);
  } else if constexpr (std::is_same_v<To, float16>) {
    return keeps(from, to_float(to));
  } else if constexpr (std::is_floating_point_v<From> && std::is_floating_point_v<To>) {
    return std::isfinite(to) || !std::isfinite(from);
  } else if constexpr (std::is_floating_point_v<From>) {
    return same(from, to);
  } else if constexpr (std::is_floating_point_v<To>) {
    return same(to, from);
  } else {
    return std::cmp_equal(from, to);
  }
}

// Converts every element; if `exact`, returns the index of the first that does not keep its value.
// Neither side need be aligned.
std::optional<size_t> convert(DataType from, std::span<const std::byte> source, DataType to,
                              std::span<std::byte> target, bool exact);

// --- positions of elements; strides are in bytes ---

// Row-major strides without gaps.
std::vector<int64_t> plain_strides(DataType type, const std::vector<int64_t>& shape);
// Whether the strides are equivalent to those: they matter only along axes of more than one
// element.
bool is_plain(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides,
              const std::vector<int64_t>& plain);
// Addresses of the lowest byte and of the one after the highest, for at least one element.
struct Extent {
  uintptr_t begin = 0, end = 0;
};
// Throws LimitExceeded if one overflows.
Extent check_extent(DataType type, const std::vector<int64_t>& shape,
                    const std::vector<int64_t>& strides, uintptr_t first);

// Copies strided elements, from `first` on, to or from contiguous memory.
void pack(DataType type, const std::vector<int64_t>& shape, const std::vector<int64_t>& strides,
          const std::byte* first, std::byte* target);
void unpack(DataType type, const std::vector<int64_t>& shape, const std::vector<int64_t>& strides,
            const std::byte* source, std::byte* first);

// Throws InvalidArgument if the tensors cannot be written to without elements overwriting each
// other: const memory, or two elements, of one or of two tensors, that overlap. `names` are the
// tensors' names.
void check_targets(std::span<const Tensor* const> targets, std::span<const std::string> names);

}  // namespace pippin::elements
