// Elementwise functions of one array. Each returns an array of a's shape.
//
// Functions of real numbers (cos, exp, sqrt ...) convert bools and integers to float32 and keep
// floating types; float16 and bfloat16 are computed in float32 and rounded once. Others keep a's
// type, and integers wrap around on overflow.
//
// complex64 is computed in double precision and rounded. Functions that have no complex form throw
// InvalidArgument.
#pragma once

#include <optional>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

// Returns `a` converted to `dtype`; `a` itself if it has that type. Narrower floats are rounded to
// nearest even. Floats lose their fraction on the way to integers, NaN becomes 0, and numbers out
// of range wrap around (floats after saturating at 64 bits). Anything but 0 becomes true. A complex
// number becomes a real one without its imaginary part.
PIPPIN_API array astype(const array& a, Dtype dtype);
// Returns the bytes of a[..., n] reinterpreted as `dtype`. The last axis has n * itemsize /
// size_of(dtype) elements. Throws InvalidArgument if that is not whole, or if a number without axes
// would change its size.
PIPPIN_API array view(const array& a, Dtype dtype);

// Returns |a|. For complex64, returns the modulus as float32. The smallest signed integer stays as
// it is.
PIPPIN_API array abs(const array& a);
// Returns the inverse cosine in radians, in [0, π]; NaN outside [-1, 1].
PIPPIN_API array arccos(const array& a);
// Returns the inverse hyperbolic cosine; NaN below 1.
PIPPIN_API array arccosh(const array& a);
// Returns the inverse sine in radians, in [-π/2, π/2]; NaN outside [-1, 1].
PIPPIN_API array arcsin(const array& a);
// Returns the inverse hyperbolic sine.
PIPPIN_API array arcsinh(const array& a);
// Returns the inverse tangent in radians, in [-π/2, π/2].
PIPPIN_API array arctan(const array& a);
// Returns the inverse hyperbolic tangent; ±infinity at ±1, NaN beyond.
PIPPIN_API array arctanh(const array& a);
// Returns every bit inverted; for bool, the negation. Throws InvalidArgument for floats and
// complex64.
PIPPIN_API array bitwise_invert(const array& a);
// Returns the smallest integers that are not below `a`, in a's type. Throws InvalidArgument for
// complex64.
PIPPIN_API array ceil(const array& a);
// Returns the complex conjugate; `a` itself for real types.
PIPPIN_API array conjugate(const array& a);
// Returns the cosine of angles in radians.
PIPPIN_API array cos(const array& a);
// Returns the hyperbolic cosine.
PIPPIN_API array cosh(const array& a);
// Returns radians converted to degrees: a * 180 / π.
PIPPIN_API array degrees(const array& a);
// Returns the error function, 2/√π ∫ exp(-t²) dt from 0 to a. Throws InvalidArgument for complex64.
PIPPIN_API array erf(const array& a);
// Returns the inverse of erf(): ±infinity at ±1, NaN outside [-1, 1]. Giles, "Approximating the
// erfinv function" (2011), refined by two Newton steps. Throws InvalidArgument for complex64.
PIPPIN_API array erfinv(const array& a);
// Returns e to the power a.
PIPPIN_API array exp(const array& a);
// Returns exp(a) - 1 without the cancellation near 0. Throws InvalidArgument for complex64.
PIPPIN_API array expm1(const array& a);
// Returns the largest integers that are not above `a`, in a's type. Throws InvalidArgument for
// complex64.
PIPPIN_API array floor(const array& a);
// Returns the imaginary part as float32, a view. For real types, returns zeros of a's type.
PIPPIN_API array imag(const array& a);
// Returns bools: whether the element is neither infinite nor NaN; for complex64, both parts.
PIPPIN_API array isfinite(const array& a);
// Returns bools: whether the element is infinite; for complex64, either part.
PIPPIN_API array isinf(const array& a);
// Returns bools: whether the element is NaN; for complex64, either part.
PIPPIN_API array isnan(const array& a);
// Returns bools: whether the element is -infinity.
PIPPIN_API array isneginf(const array& a);
// Returns bools: whether the element is +infinity.
PIPPIN_API array isposinf(const array& a);
// Returns the natural logarithm: -infinity at 0, NaN below.
PIPPIN_API array log(const array& a);
// Returns the logarithm to base 10: -infinity at 0, NaN below.
PIPPIN_API array log10(const array& a);
// Returns log(1 + a) without the cancellation near 0: -infinity at -1, NaN below.
PIPPIN_API array log1p(const array& a);
// Returns the logarithm to base 2: -infinity at 0, NaN below.
PIPPIN_API array log2(const array& a);
// Returns bools: whether the element is 0.
PIPPIN_API array logical_not(const array& a);
// Returns `a` with NaN replaced by `nan`, +infinity by `posinf` and -infinity by `neginf`; by
// default, infinities become the largest and the lowest finite number of a's type. For complex64,
// replaces in both parts. Integers and bools are returned unchanged.
PIPPIN_API array nan_to_num(const array& a, float nan = 0,
                            std::optional<float> posinf = std::nullopt,
                            std::optional<float> neginf = std::nullopt);
// Returns -a. Throws InvalidArgument for bool.
PIPPIN_API array negative(const array& a);
// Returns `a` itself.
PIPPIN_API array positive(const array& a);
// Returns degrees converted to radians: a * π / 180.
PIPPIN_API array radians(const array& a);
// Returns the real part as float32, a view; `a` itself for real types.
PIPPIN_API array real(const array& a);
// Returns 1 / a, for integers in float32.
PIPPIN_API array reciprocal(const array& a);
// Returns `a` rounded to multiples of 10^-decimals in a's type, ties to even; negative decimals
// round to tens, hundreds and so on. For complex64, rounds both parts. Integers stay unchanged
// without decimals.
PIPPIN_API array round(const array& a, int decimals = 0);
// Returns 1 / √a: infinity at 0, NaN below.
PIPPIN_API array rsqrt(const array& a);
// Returns 1 / (1 + exp(-a)), without overflow. Throws InvalidArgument for complex64.
PIPPIN_API array sigmoid(const array& a);
// Returns -1, 0 or 1 in a's type, and NaN for NaN. For complex64, returns a / |a|, and 0 for 0.
PIPPIN_API array sign(const array& a);
// Returns the sine of angles in radians.
PIPPIN_API array sin(const array& a);
// Returns the hyperbolic sine.
PIPPIN_API array sinh(const array& a);
// Returns the square root; NaN below 0. For complex64, returns the root with a real part of 0 or
// more.
PIPPIN_API array sqrt(const array& a);
// Returns a * a in a's type.
PIPPIN_API array square(const array& a);
// Returns `a` itself: there is no differentiation.
PIPPIN_API array stop_gradient(const array& a);
// Returns the tangent of angles in radians.
PIPPIN_API array tan(const array& a);
// Returns the hyperbolic tangent.
PIPPIN_API array tanh(const array& a);
// Returns `a` rounded towards zero, in a's type. Throws InvalidArgument for complex64.
PIPPIN_API array trunc(const array& a);

// Same as negative().
inline array operator-(const array& a) {
  return negative(a);
}
// Same as bitwise_invert().
inline array operator~(const array& a) {
  return bitwise_invert(a);
}

}  // namespace pippin::mx
