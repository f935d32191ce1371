// exp, log, tanh and their family over the vectors of one instruction set, which the includer has
// chosen by including avx512.h, avx2.h or neon.h first.
//
// The polynomials were fitted for this use (minimax in relative error, by Remez exchange); errors
// are a few units in the last place over the whole range, including subnormal results. NaN gives
// NaN: min(a, b) and max(a, b) return b if either is NaN, so the argument is always second.
#pragma once

namespace pippin::kernels {
namespace {

PIPPIN_VEC F abs(F x) {
  return floats(bits(x) & set_i(0x7fffffff));
}
PIPPIN_VEC F neg(F x) {
  return floats(bits(x) ^ set_i(INT32_MIN));
}
PIPPIN_VEC F copy_sign(F magnitude, F sign) {
  return floats((bits(magnitude) & set_i(0x7fffffff)) | (bits(sign) & set_i(INT32_MIN)));
}
PIPPIN_VEC M is_nan(F x) {
  return ~(x == x);
}

// NaN if either is NaN.
PIPPIN_VEC F maximum(F a, F b) {
  return select(is_nan(a), a, max(a, b));
}
PIPPIN_VEC F minimum(F a, F b) {
  return select(is_nan(a), a, min(a, b));
}

// c0 + c1 x + c2 x^2 ..., with `c` from the last to the first.
template <int kCount>
PIPPIN_VEC F polynomial(F x, const float (&c)[kCount]) {
  F value = set(c[0]);
#pragma GCC unroll 16
  for (int i = 1; i < kCount; ++i) value = fma(value, x, set(c[i]));
  return value;
}

// exp(r) * 2^n for |r| <= ln(2) / 2.
PIPPIN_VEC F exp_parts(F r, F n) {
  const F q = polynomial(
      r, {1.381314364e-3f, 8.369418851e-3f, 4.166845681e-2f, 1.666651479e-1f, 4.999999305e-1f});
  return times_power_of_two(fma(r * r, q, r) + set(1), n);
}

PIPPIN_VEC F exp(F x) {
  x = max(set(-105), min(set(89), x));  // beyond: 0 and infinity, as at the bounds
  const F n = round(x * set(1.44269504f));
  F r = fnma(n, set(0x1.62e4p-1f), x);  // ln 2 in two parts, the first short
  r = fnma(n, set(0x1.7f7d1cp-20f), r);
  return exp_parts(r, n);
}

PIPPIN_VEC F exp2(F x) {
  x = max(set(-151), min(set(129), x));
  const F n = round(x);
  return exp_parts((x - n) * set(0.693147181f), n);
}

PIPPIN_VEC F log(F x) {
  const M subnormal = x < set(0x1p-126f);
  F scaled = select(subnormal, x * set(0x1p24f), x);
  // x = m * 2^e with m in [sqrt(1/2), sqrt(2)).
  const I shifted = bits(scaled) - set_i(0x3f3504f3);
  F e = to_float(shift_right_signed<23>(shifted));
  e = select(subnormal, e - set(24), e);
  const F m = floats((shifted & set_i(0x007fffff)) + set_i(0x3f3504f3));
  const F f = m - set(1);
  const F q = polynomial(
      f, {6.746642569e-2f, -1.167565271e-1f, 1.188816181e-1f, -1.240558874e-1f, 1.421955240e-1f,
          -1.666799587e-1f, 2.000211866e-1f, -2.500000960e-1f, 3.333331260e-1f});
  const F square = f * f;
  F result = fma(e, set(0x1.7f7d1cp-20f), f * square * q);
  result = fnma(set(0.5f), square, result);
  result = fma(e, set(0x1.62e4p-1f), f + result);
  result = select(x < set(__builtin_inff()), result, x);          // inf, NaN
  result = select(set(0) <= x, result, set(__builtin_nanf("")));  // negative
  return select(x == set(0), set(-__builtin_inff()), result);
}

// log(1 + exp(x)). The part of u that 1 + u rounds away does not affect the log.
PIPPIN_VEC F softplus(F x) {
  const F u = exp(neg(abs(x))), sum = set(1) + u;
  return max(set(0), x) + (log(sum) + (u - (sum - set(1))) / sum);
}

PIPPIN_VEC F sigmoid(F x) {
  return set(1) / (set(1) + exp(neg(x)));
}

// x / (1 + exp(-a x)), with 0 at -inf.
PIPPIN_VEC F gated(F x, F exponent) {
  return max(set(-__FLT_MAX__), x) / (set(1) + exp(neg(exponent)));
}
PIPPIN_VEC F silu(F x) {
  return gated(x, x);
}

PIPPIN_VEC F tanh(F x) {
  const F square = x * x;
  const F near = fma(x * square,
                     polynomial(square, {-5.529077186e-3f, 2.048380080e-2f, -5.369315451e-2f,
                                         1.333090269e-1f, -3.333326303e-1f}),
                     x);
  const F e = exp(abs(x) + abs(x));
  const F far = set(1) - set(2) / (e + set(1));
  return select(abs(x) < set(0.65f), near, copy_sign(far, x));
}

// exp(-z^2) and then erfc for z >= 0.
PIPPIN_VEC F erfc_positive(F z) {
  z = min(set(10.5f), z);  // erfc(10.5) is below the smallest subnormal
  const F t = set(1) / fma(z, set(0.35f), set(1));
  const F q = polynomial(
      t, {3.908182394e-2f, -1.627310657e-1f, 1.906842436e-1f, -4.043056912e-2f, 9.800514342e-2f,
          1.398978965e-1f, 1.534080026e-1f, 1.874023009e-1f, 1.972018428e-1f, 1.974803186e-1f});
  // The square's rounding error matters: its exponential is needed to relative precision.
  const F square = z * z;
  const F error = fma(z, z, neg(square));
  const F e = exp(neg(square));
  return fnma(e, error, e) * (t * q);
}

PIPPIN_VEC F erf(F x) {
  const F square = x * x;
  const F near =
      x * polynomial(square, {7.889123404e-5f, -8.020842444e-4f, 5.189535470e-3f, -2.685444466e-2f,
                              1.128360018e-1f, -3.761262714e-1f, 1.128379166f});
  const F far = set(1) - erfc_positive(abs(x));
  return select(abs(x) < set(0.95f), near, copy_sign(far, x));
}

// x * Phi(x), computed from the tail: max(x, 0) - |x| * erfc(|x| / sqrt 2) / 2.
PIPPIN_VEC F gelu(F x) {
  const F magnitude = min(set(__FLT_MAX__), abs(x));
  const F tail = set(0.5f) * erfc_positive(magnitude * set(0.707106781f));
  return fnma(magnitude, tail, max(set(0), x));
}
PIPPIN_VEC F gelu_tanh(F x) {
  const F inner = x * fma(x * x, set(0.0713548162726f), set(1.59576912161f));
  return gated(x, inner);
}
PIPPIN_VEC F gelu_sigmoid(F x) {
  return gated(x, set(1.702f) * x);
}

constexpr float kMaxAngle = 1e5f;

// sin(x + quarter_turns * pi / 2) for |x| <= kMaxAngle.
PIPPIN_VEC F sin_turned(F x, int quarter_turns) {
  const F n = round(x * set(0.636619772f));
  // pi/2 in three parts; the first product is exact in the fused step.
  F r = fnma(n, set(0x1.921fb6p+0f), x);
  r = fnma(n, set(-0x1.777a5cp-25f), r);
  r = fnma(n, set(-0x1.ee59dap-50f), r);
  const F square = r * r;
  const F sine =
      fma(r * square, polynomial(square, {-1.951086860e-4f, 8.332131775e-3f, -1.666665423e-1f}), r);
  const F cosine =
      fma(square * square, polynomial(square, {2.445709409e-5f, -1.388760448e-3f, 4.166665392e-2f}),
          fnma(set(0.5f), square, set(1)));
  const I quadrant = to_int(n) + set_i(quarter_turns);
  const M odd = (quadrant & set_i(1)) == set_i(1);
  const F value = select(odd, cosine, sine);
  return floats(bits(value) ^ shift_left<30>(quadrant & set_i(2)));
}

// The few arguments beyond kMaxAngle are passed to the C library one by one.
template <typename Function>
PIPPIN_VEC F fix_large_angles(F x, F value, Function function) {
  const M large = ~(abs(x) <= set(kMaxAngle));
  if (any(large)) {
    float arguments[kLanes];
    float results[kLanes];
    store(arguments, x);
    for (int64_t i = 0; i < kLanes; ++i) {
      results[i] = static_cast<float>(function(static_cast<double>(arguments[i])));
    }
    value = select(large, load(results), value);
  }
  return value;
}
PIPPIN_VEC F sin(F x) {
  return fix_large_angles(x, sin_turned(x, 0), [](double v) { return __builtin_sin(v); });
}
PIPPIN_VEC F cos(F x) {
  return fix_large_angles(x, sin_turned(x, 1), [](double v) { return __builtin_cos(v); });
}

// bf16 in the low half of each lane, rounded to nearest even; NaN stays NaN, quiet.
PIPPIN_VEC I to_bf16(F x) {
  const I raw = bits(x);
  const I odd = shift_right<16>(raw) & set_i(1);
  const I rounded = shift_right<16>(raw + set_i(0x7fff) + odd);
  return select(is_nan(x), shift_right<16>(raw) | set_i(0x40), rounded);
}

}  // namespace
}  // namespace pippin::kernels
