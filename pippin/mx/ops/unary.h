// Elementwise functions. Functions of real numbers convert integers to float32.
#pragma once

#include <optional>

#include "pippin/mx/core/array.h"

namespace pippin::mx {

PIPPIN_API array astype(const array& a, Dtype dtype);
// Reinterprets the bytes as another type; the last axis grows or shrinks.
PIPPIN_API array view(const array& a, Dtype dtype);

PIPPIN_API array abs(const array& a);
PIPPIN_API array arccos(const array& a);
PIPPIN_API array arccosh(const array& a);
PIPPIN_API array arcsin(const array& a);
PIPPIN_API array arcsinh(const array& a);
PIPPIN_API array arctan(const array& a);
PIPPIN_API array arctanh(const array& a);
PIPPIN_API array bitwise_invert(const array& a);
PIPPIN_API array ceil(const array& a);
PIPPIN_API array conjugate(const array& a);
PIPPIN_API array cos(const array& a);
PIPPIN_API array cosh(const array& a);
PIPPIN_API array degrees(const array& a);
PIPPIN_API array erf(const array& a);
PIPPIN_API array erfinv(const array& a);
PIPPIN_API array exp(const array& a);
PIPPIN_API array expm1(const array& a);
PIPPIN_API array floor(const array& a);
PIPPIN_API array imag(const array& a);
PIPPIN_API array isfinite(const array& a);
PIPPIN_API array isinf(const array& a);
PIPPIN_API array isnan(const array& a);
PIPPIN_API array isneginf(const array& a);
PIPPIN_API array isposinf(const array& a);
PIPPIN_API array log(const array& a);
PIPPIN_API array log10(const array& a);
PIPPIN_API array log1p(const array& a);
PIPPIN_API array log2(const array& a);
PIPPIN_API array logical_not(const array& a);
// Replaces NaN, +inf and -inf; infinities become the largest numbers by default.
PIPPIN_API array nan_to_num(const array& a, float nan = 0,
                            std::optional<float> posinf = std::nullopt,
                            std::optional<float> neginf = std::nullopt);
PIPPIN_API array negative(const array& a);
PIPPIN_API array positive(const array& a);
PIPPIN_API array radians(const array& a);
PIPPIN_API array real(const array& a);
PIPPIN_API array reciprocal(const array& a);
// Ties to even; to 10^-decimals.
PIPPIN_API array round(const array& a, int decimals = 0);
PIPPIN_API array rsqrt(const array& a);
PIPPIN_API array sigmoid(const array& a);
PIPPIN_API array sign(const array& a);
PIPPIN_API array sin(const array& a);
PIPPIN_API array sinh(const array& a);
PIPPIN_API array sqrt(const array& a);
PIPPIN_API array square(const array& a);
PIPPIN_API array stop_gradient(const array& a);  // a itself: there is no differentiation here
PIPPIN_API array tan(const array& a);
PIPPIN_API array tanh(const array& a);
PIPPIN_API array trunc(const array& a);

inline array operator-(const array& a) {
  return negative(a);
}
inline array operator~(const array& a) {
  return bitwise_invert(a);
}

}  // namespace pippin::mx
