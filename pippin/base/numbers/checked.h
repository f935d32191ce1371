// Checked arithmetic for sizes that come from files: returns nothing on overflow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace pippin {

template <typename T>
[[nodiscard]] constexpr std::optional<T> checked_mul(T a, T b) {
  T result{};
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

template <typename T>
[[nodiscard]] constexpr std::optional<T> checked_add(T a, T b) {
  T result{};
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

template <typename T>
constexpr T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}

template <typename T>
constexpr T align_up(T value, T alignment) {
  return ceil_div(value, alignment) * alignment;
}

}  // namespace pippin
