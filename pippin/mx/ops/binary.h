// Functions of two or three arrays, element by element, with NumPy's broadcasting and the promotion
// of dtype.h.
//
// A C++ number next to an array is weak, as in Python: it takes the array's type, except that a
// fraction next to integers makes both float32.
#pragma once

#include <optional>
#include <vector>

#include "pippin/mx/core/array.h"
#include "pippin/mx/ops/unary.h"

namespace pippin::mx {

PIPPIN_API array add(const array& a, const array& b);
PIPPIN_API array subtract(const array& a, const array& b);
PIPPIN_API array multiply(const array& a, const array& b);
PIPPIN_API array divide(const array& a, const array& b);  // integers give float32
PIPPIN_API array floor_divide(const array& a, const array& b);
PIPPIN_API array remainder(const array& a, const array& b);
PIPPIN_API std::vector<array> divmod(const array& a, const array& b);
PIPPIN_API array power(const array& a, const array& b);
PIPPIN_API array maximum(const array& a, const array& b);
PIPPIN_API array minimum(const array& a, const array& b);
PIPPIN_API array logaddexp(const array& a, const array& b);
PIPPIN_API array arctan2(const array& a, const array& b);

PIPPIN_API array equal(const array& a, const array& b);
PIPPIN_API array not_equal(const array& a, const array& b);
PIPPIN_API array less(const array& a, const array& b);
PIPPIN_API array less_equal(const array& a, const array& b);
PIPPIN_API array greater(const array& a, const array& b);
PIPPIN_API array greater_equal(const array& a, const array& b);
PIPPIN_API array logical_and(const array& a, const array& b);
PIPPIN_API array logical_or(const array& a, const array& b);
PIPPIN_API array logical_xor(const array& a, const array& b);

PIPPIN_API array bitwise_and(const array& a, const array& b);
PIPPIN_API array bitwise_or(const array& a, const array& b);
PIPPIN_API array bitwise_xor(const array& a, const array& b);
PIPPIN_API array left_shift(const array& a, const array& b);
PIPPIN_API array right_shift(const array& a, const array& b);

PIPPIN_API array where(const array& condition, const array& a, const array& b);
PIPPIN_API array clip(const array& a, const std::optional<array>& low,
                      const std::optional<array>& high);
PIPPIN_API array isclose(const array& a, const array& b, double rtol = 1e-5, double atol = 1e-8,
                         bool equal_nan = false);
PIPPIN_API array allclose(const array& a, const array& b, double rtol = 1e-5, double atol = 1e-8,
                          bool equal_nan = false);
PIPPIN_API array array_equal(const array& a, const array& b, bool equal_nan = false);

// The common type after promotion.
PIPPIN_API Dtype result_type(const std::vector<array>& arrays);

// A number with the type that it takes next to `other`.
template <Scalar T>
array weak(T value, const array& other) {
  constexpr bool kIsFraction = !std::is_integral_v<T> && !std::is_same_v<T, bool>;
  const Dtype dtype = other.dtype();
  if (kIsFraction ? is_inexact(dtype) : dtype != bool_) return array(value, dtype);
  return array(value, kIsFraction ? float32 : std::is_same_v<T, bool> ? bool_ : int32);
}

// NOLINTBEGIN(bugprone-macro-parentheses): a name that is declared
#define PIPPIN_MX_OPERATOR(symbol, function)                     \
  inline array operator symbol(const array& a, const array& b) { \
    return function(a, b);                                       \
  }                                                              \
  template <Scalar T>                                            \
  array operator symbol(const array& a, T b) {                   \
    return function(a, weak(b, a));                              \
  }                                                              \
  template <Scalar T>                                            \
  array operator symbol(T a, const array& b) {                   \
    return function(weak(a, b), b);                              \
  }
// NOLINTEND(bugprone-macro-parentheses)
PIPPIN_MX_OPERATOR(+, add)
PIPPIN_MX_OPERATOR(-, subtract)
PIPPIN_MX_OPERATOR(*, multiply)
PIPPIN_MX_OPERATOR(/, divide)
PIPPIN_MX_OPERATOR(%, remainder)
PIPPIN_MX_OPERATOR(==, equal)
PIPPIN_MX_OPERATOR(!=, not_equal)
PIPPIN_MX_OPERATOR(<, less)
PIPPIN_MX_OPERATOR(<=, less_equal)
PIPPIN_MX_OPERATOR(>, greater)
PIPPIN_MX_OPERATOR(>=, greater_equal)
PIPPIN_MX_OPERATOR(&, bitwise_and)
PIPPIN_MX_OPERATOR(|, bitwise_or)
PIPPIN_MX_OPERATOR(^, bitwise_xor)
PIPPIN_MX_OPERATOR(<<, left_shift)
PIPPIN_MX_OPERATOR(>>, right_shift)
#undef PIPPIN_MX_OPERATOR
inline array operator&&(const array& a, const array& b) {
  return logical_and(a, b);
}
inline array operator||(const array& a, const array& b) {
  return logical_or(a, b);
}

}  // namespace pippin::mx
