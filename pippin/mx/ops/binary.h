// Elementwise functions of two or three arrays, with NumPy's broadcasting and the promotion of
// dtype.h: axes are aligned at the end, and axes of size 1 are repeated. Shapes that cannot be
// broadcast throw InvalidArgument with the operation's name and both shapes.
//
// The results have the promoted type unless a comment says otherwise. Integers wrap around on
// overflow. A C++ number next to an array is weak, as in Python: it takes the array's type, except
// that a fraction next to integers makes both float32.
//
// complex64 has arithmetic (+ - * / power, logaddexp) and comparisons, in the order of the real
// parts, then of the imaginary ones. Other functions of complex64 throw InvalidArgument.
#pragma once

#include <optional>
#include <vector>

#include "pippin/mx/core/array.h"
#include "pippin/mx/ops/unary.h"

namespace pippin::mx {

// Returns a + b; for bools, logical or.
PIPPIN_API array add(const array& a, const array& b);
// Returns a - b.
PIPPIN_API array subtract(const array& a, const array& b);
// Returns a * b; for bools, logical and.
PIPPIN_API array multiply(const array& a, const array& b);
// Returns a / b. Integers and bools are divided in float32.
PIPPIN_API array divide(const array& a, const array& b);
// Returns a / b rounded down, as Python's //. Integers divided by 0 give 0.
PIPPIN_API array floor_divide(const array& a, const array& b);
// Returns the remainder of floor_divide(), which has b's sign, as Python's %. Integers modulo 0
// give 0; floats give NaN.
PIPPIN_API array remainder(const array& a, const array& b);
// Returns {floor_divide(a, b), remainder(a, b)}.
PIPPIN_API std::vector<array> divmod(const array& a, const array& b);
// Returns a to the power b. Integers to a negative power give 0, except that 1 and -1 give ±1.
PIPPIN_API array power(const array& a, const array& b);
// Returns the larger of the two, and NaN if either is NaN.
PIPPIN_API array maximum(const array& a, const array& b);
// Returns the smaller of the two, and NaN if either is NaN.
PIPPIN_API array minimum(const array& a, const array& b);
// Returns log(exp(a) + exp(b)) without overflow, for integers in float32.
PIPPIN_API array logaddexp(const array& a, const array& b);
// Returns the angle of the point (b, a) in radians, in [-π, π], for integers in float32.
PIPPIN_API array arctan2(const array& a, const array& b);

// Returns bools: a == b. NaN is not equal to itself.
PIPPIN_API array equal(const array& a, const array& b);
// Returns bools: a != b.
PIPPIN_API array not_equal(const array& a, const array& b);
// Returns bools: a < b.
PIPPIN_API array less(const array& a, const array& b);
// Returns bools: a <= b.
PIPPIN_API array less_equal(const array& a, const array& b);
// Returns bools: a > b.
PIPPIN_API array greater(const array& a, const array& b);
// Returns bools: a >= b.
PIPPIN_API array greater_equal(const array& a, const array& b);
// Returns bools: whether both elements are other than 0.
PIPPIN_API array logical_and(const array& a, const array& b);
// Returns bools: whether at least one of the elements is other than 0.
PIPPIN_API array logical_or(const array& a, const array& b);
// Returns bools: whether exactly one of the elements is other than 0.
PIPPIN_API array logical_xor(const array& a, const array& b);

// Returns the bits set in both. Throws InvalidArgument for floats and complex64.
PIPPIN_API array bitwise_and(const array& a, const array& b);
// Returns the bits set in at least one. Throws InvalidArgument for floats and complex64.
PIPPIN_API array bitwise_or(const array& a, const array& b);
// Returns the bits set in exactly one. Throws InvalidArgument for floats and complex64.
PIPPIN_API array bitwise_xor(const array& a, const array& b);
// Returns a shifted left by b bits; 0 from the type's width on and for a negative b. Bools become
// uint8. Throws InvalidArgument for floats and complex64.
PIPPIN_API array left_shift(const array& a, const array& b);
// Returns a shifted right by b bits, signed types with copies of the sign. From the type's width on
// and for a negative b, returns 0, or -1 for a negative a. Bools become uint8. Throws
// InvalidArgument for floats and complex64.
PIPPIN_API array right_shift(const array& a, const array& b);

// Returns elements of `a` where `condition` is not 0, and of `b` elsewhere; all three broadcast
// together.
PIPPIN_API array where(const array& condition, const array& a, const array& b);
// Returns `a` limited to [low, high]; NaN stays NaN. The arrays broadcast together, and where low >
// high the result is high. Throws InvalidArgument without any bound and for complex64.
PIPPIN_API array clip(const array& a, const std::optional<array>& low,
                      const std::optional<array>& high);
// Returns bools: |a - b| <= atol + rtol * |b|. Infinities are close only to themselves, and NaN is
// close to NaN only with `equal_nan`.
PIPPIN_API array isclose(const array& a, const array& b, double rtol = 1e-5, double atol = 1e-8,
                         bool equal_nan = false);
// Returns one bool: whether isclose() is true everywhere.
PIPPIN_API array allclose(const array& a, const array& b, double rtol = 1e-5, double atol = 1e-8,
                          bool equal_nan = false);
// Returns one bool: whether shapes and elements are equal; types may differ. With `equal_nan`, NaN
// equals NaN.
PIPPIN_API array array_equal(const array& a, const array& b, bool equal_nan = false);

// Returns the common type of arrays by promotion; bool for none.
PIPPIN_API Dtype result_type(const std::vector<array>& arrays);

// Returns an array without axes: a number with the type that it takes next to `other`.
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
// Same as logical_and(); both sides are evaluated.
inline array operator&&(const array& a, const array& b) {
  return logical_and(a, b);
}
// Same as logical_or(); both sides are evaluated.
inline array operator||(const array& a, const array& b) {
  return logical_or(a, b);
}

}  // namespace pippin::mx
