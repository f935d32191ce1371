// elementwise.h over the vectors of vec/: an ISA file includes one vec header and vec/math.h, then
// this. Operations that are rare or have no good vector form use the scalar table.
#pragma once

#include "pippin/kernels/elementwise/args.h"

namespace pippin::kernels {
namespace {

template <typename Op>
PIPPIN_VEC void map(const float* x, float* y, int64_t n, Op op) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(y + i, op(load(x + i)));
  if (i < n) store_part(y + i, op(load_part(x + i, n - i)), n - i);
}

void unary(UnaryOp op, const float* x, float* y, int64_t n, float alpha, float beta) noexcept {
  const F a = set(alpha);
  const F b = set(beta);
  const F zero = set(0);
  const F one = set(1);
  switch (op) {
    case UnaryOp::Abs:
      return map(x, y, n, [](F v) { return abs(v); });
    case UnaryOp::Ceil:
      return map(x, y, n, [](F v) { return ceil(v); });
    case UnaryOp::Clip:
      return map(x, y, n, [=](F v) { return min(b, max(a, v)); });
    case UnaryOp::Cos:
      return map(x, y, n, [](F v) { return cos(v); });
    case UnaryOp::Elu:
      // exp(v) - 1 = tanh(v / 2) * (exp(v) + 1) keeps small values exact.
      return map(x, y, n, [=](F v) {
        const F below = min(zero, v);
        return select(zero < v, v, a * (tanh(set(0.5f) * below) * (exp(below) + one)));
      });
    case UnaryOp::Erf:
      return map(x, y, n, [](F v) { return erf(v); });
    case UnaryOp::Exp:
      return map(x, y, n, [](F v) { return exp(v); });
    case UnaryOp::Exp2:
      return map(x, y, n, [](F v) { return exp2(v); });
    case UnaryOp::Floor:
      return map(x, y, n, [](F v) { return floor(v); });
    case UnaryOp::Gelu:
      return map(x, y, n, [](F v) { return gelu(v); });
    case UnaryOp::GeluSigmoid:
      return map(x, y, n, [](F v) { return gelu_sigmoid(v); });
    case UnaryOp::GeluTanh:
      return map(x, y, n, [](F v) { return gelu_tanh(v); });
    case UnaryOp::HardSwish:
      return map(x, y, n, [=](F v) { return v * min(one, max(zero, fma(a, v, b))); });
    case UnaryOp::Inverse:
      return map(x, y, n, [=](F v) { return one / (v + a); });
    case UnaryOp::LeakyRelu:
      return map(x, y, n, [=](F v) { return select(v < zero, a * v, v); });
    case UnaryOp::Linear:
      return map(x, y, n, [=](F v) { return fma(a, v, b); });
    case UnaryOp::Log:
      return map(x, y, n, [=](F v) { return log(v + a); });
    case UnaryOp::Neg:
      return map(x, y, n, [](F v) { return neg(v); });
    case UnaryOp::Relu:
      return map(x, y, n, [=](F v) { return max(zero, v); });
    case UnaryOp::Relu6:
      return map(x, y, n, [=](F v) { return min(set(6), max(zero, v)); });
    case UnaryOp::Round:
      return map(x, y, n, [](F v) { return round(v); });
    case UnaryOp::Rsqrt:
      return map(x, y, n, [=](F v) { return one / sqrt(v + a); });
    case UnaryOp::ScaledTanh:
      return map(x, y, n, [=](F v) { return a * tanh(b * v); });
    case UnaryOp::Sigmoid:
      return map(x, y, n, [](F v) { return sigmoid(v); });
    case UnaryOp::SigmoidHard:
      return map(x, y, n, [=](F v) { return min(one, max(zero, fma(a, v, b))); });
    case UnaryOp::Sign:
      return map(x, y, n, [=](F v) { return select(zero < v, one, select(v < zero, set(-1), v)); });
    case UnaryOp::Silu:
      return map(x, y, n, [](F v) { return silu(v); });
    case UnaryOp::Sin:
      return map(x, y, n, [](F v) { return sin(v); });
    case UnaryOp::Softplus:
      return map(x, y, n, [](F v) { return softplus(v); });
    case UnaryOp::Softsign:
      return map(x, y, n, [=](F v) {
        const F magnitude = abs(v);
        const F value = v / (one + magnitude);
        return select(magnitude == set(__builtin_inff()), copy_sign(one, v), value);
      });
    case UnaryOp::Sqrt:
      return map(x, y, n, [](F v) { return sqrt(v); });
    case UnaryOp::Square:
      return map(x, y, n, [](F v) { return v * v; });
    case UnaryOp::Tanh:
      return map(x, y, n, [](F v) { return tanh(v); });
    case UnaryOp::Threshold:
      return map(x, y, n, [=](F v) { return max(a, v); });
  }
}

// An array, or a single value used for every element.
template <bool kIsArray>
struct Floats {
  explicit PIPPIN_VEC Floats(const float* from) : p(from), value(kIsArray ? set(0) : set(*from)) {}
  PIPPIN_VEC F at(int64_t i) const { return kIsArray ? load(p + i) : value; }
  PIPPIN_VEC F part(int64_t i, int64_t n) const { return kIsArray ? load_part(p + i, n) : value; }
  const float* p;
  F value;
};
template <bool kIsArray>
struct Ints {
  explicit PIPPIN_VEC Ints(const int32_t* from)
      : p(from), value(kIsArray ? set_i(0) : set_i(*from)) {}
  PIPPIN_VEC I at(int64_t i) const { return kIsArray ? load_i(p + i) : value; }
  PIPPIN_VEC I part(int64_t i, int64_t n) const { return kIsArray ? load_part_i(p + i, n) : value; }
  const int32_t* p;
  I value;
};

// Calls body(left, right) with the sources for the steps.
template <template <bool> typename Source, typename T, typename Body>
PIPPIN_VEC void with_sources(const T* a, int64_t a_step, const T* b, int64_t b_step, Body body) {
  if (a_step != 0 && b_step != 0) {
    body(Source<true>(a), Source<true>(b));
  } else if (a_step != 0) {
    body(Source<true>(a), Source<false>(b));
  } else if (b_step != 0) {
    body(Source<false>(a), Source<true>(b));
  } else {
    body(Source<false>(a), Source<false>(b));
  }
}

template <typename Op>
PIPPIN_VEC void map2(const float* a, int64_t a_step, const float* b, int64_t b_step, float* y,
                     int64_t n, Op op) {
  with_sources<Floats>(a, a_step, b, b_step, [=](auto left, auto right) {
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) store(y + i, op(left.at(i), right.at(i)));
    if (i < n) store_part(y + i, op(left.part(i, n - i), right.part(i, n - i)), n - i);
  });
}

void binary(BinaryOp op, const float* a, int64_t a_step, const float* b, int64_t b_step, float* y,
            int64_t n) noexcept {
  if (n == 0) return;
  switch (op) {
    case BinaryOp::Add:
      return map2(a, a_step, b, b_step, y, n, [](F u, F v) { return u + v; });
    case BinaryOp::Sub:
      return map2(a, a_step, b, b_step, y, n, [](F u, F v) { return u - v; });
    case BinaryOp::Mul:
      return map2(a, a_step, b, b_step, y, n, [](F u, F v) { return u * v; });
    case BinaryOp::Div:
      return map2(a, a_step, b, b_step, y, n, [](F u, F v) { return u / v; });
    case BinaryOp::FloorDiv:
      return map2(a, a_step, b, b_step, y, n, [](F u, F v) { return floor(u / v); });
    case BinaryOp::Maximum:
      return map2(a, a_step, b, b_step, y, n, [](F u, F v) { return maximum(u, v); });
    case BinaryOp::Minimum:
      return map2(a, a_step, b, b_step, y, n, [](F u, F v) { return minimum(u, v); });
    case BinaryOp::Pow:
      if (b_step == 0 && *b == 2) {
        return map2(a, a_step, b, b_step, y, n, [](F u, F) { return u * u; });
      }
      [[fallthrough]];
    case BinaryOp::Mod:
      return elementwise_scalar.binary(op, a, a_step, b, b_step, y, n);
  }
}

template <typename Op>
PIPPIN_VEC void map2_i32(const int32_t* a, int64_t a_step, const int32_t* b, int64_t b_step,
                         int32_t* y, int64_t n, Op op) {
  with_sources<Ints>(a, a_step, b, b_step, [=](auto left, auto right) {
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) store_i(y + i, op(left.at(i), right.at(i)));
    if (i < n) store_part_i(y + i, op(left.part(i, n - i), right.part(i, n - i)), n - i);
  });
}

void binary_i32(BinaryOp op, const int32_t* a, int64_t a_step, const int32_t* b, int64_t b_step,
                int32_t* y, int64_t n) noexcept {
  if (n == 0) return;
  switch (op) {
    case BinaryOp::Add:
      return map2_i32(a, a_step, b, b_step, y, n, [](I u, I v) { return u + v; });
    case BinaryOp::Sub:
      return map2_i32(a, a_step, b, b_step, y, n, [](I u, I v) { return u - v; });
    case BinaryOp::Mul:
      return map2_i32(a, a_step, b, b_step, y, n, [](I u, I v) { return u * v; });
    case BinaryOp::Maximum:
      return map2_i32(a, a_step, b, b_step, y, n, [](I u, I v) { return max(u, v); });
    case BinaryOp::Minimum:
      return map2_i32(a, a_step, b, b_step, y, n, [](I u, I v) { return min(u, v); });
    default:
      return elementwise_scalar.binary_i32(op, a, a_step, b, b_step, y, n);
  }
}

template <template <bool> typename Source, typename T, typename Op>
PIPPIN_VEC void map_to_mask(const T* a, int64_t a_step, const T* b, int64_t b_step, uint8_t* y,
                            int64_t n, Op op) {
  with_sources<Source>(a, a_step, b, b_step, [=](auto left, auto right) {
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) store_mask(y + i, op(left.at(i), right.at(i)));
    if (i < n) {
      uint8_t rest[kLanes];
      store_mask(rest, op(left.part(i, n - i), right.part(i, n - i)));
      for (int64_t j = i; j < n; ++j) y[j] = rest[j - i];
    }
  });
}

PIPPIN_VEC M at_most(F a, F b) {
  return a <= b;
}
PIPPIN_VEC M at_most(I a, I b) {
  return ~(b < a);
}

template <template <bool> typename Source, typename V, typename T>
void compare_all(CompareOp op, const T* a, int64_t a_step, const T* b, int64_t b_step, uint8_t* y,
                 int64_t n) {
  if (n == 0) return;
  switch (op) {
    case CompareOp::Equal:
      return map_to_mask<Source>(a, a_step, b, b_step, y, n, [](V u, V v) { return u == v; });
    case CompareOp::NotEqual:
      return map_to_mask<Source>(a, a_step, b, b_step, y, n, [](V u, V v) { return ~(u == v); });
    case CompareOp::Less:
      return map_to_mask<Source>(a, a_step, b, b_step, y, n, [](V u, V v) { return u < v; });
    case CompareOp::Greater:
      return map_to_mask<Source>(a, a_step, b, b_step, y, n, [](V u, V v) { return v < u; });
    case CompareOp::LessEqual:
      return map_to_mask<Source>(a, a_step, b, b_step, y, n,
                                 [](V u, V v) { return at_most(u, v); });
    case CompareOp::GreaterEqual:
      return map_to_mask<Source>(a, a_step, b, b_step, y, n,
                                 [](V u, V v) { return at_most(v, u); });
  }
}

void compare(CompareOp op, const float* a, int64_t a_step, const float* b, int64_t b_step,
             uint8_t* y, int64_t n) noexcept {
  compare_all<Floats, F>(op, a, a_step, b, b_step, y, n);
}
void compare_i32(CompareOp op, const int32_t* a, int64_t a_step, const int32_t* b, int64_t b_step,
                 uint8_t* y, int64_t n) noexcept {
  compare_all<Ints, I>(op, a, a_step, b, b_step, y, n);
}

void select_any(const uint8_t* condition, int64_t condition_step, const void* a, int64_t a_step,
                const void* b, int64_t b_step, void* y, int64_t n) noexcept {
  if (n == 0) return;
  const auto* ints_a = static_cast<const int32_t*>(a);
  const auto* ints_b = static_cast<const int32_t*>(b);
  auto* to = static_cast<int32_t*>(y);
  if (condition_step == 0) {  // one side for all elements
    const auto* from = *condition != 0 ? ints_a : ints_b;
    const int64_t step = *condition != 0 ? a_step : b_step;
    return map2_i32(from, step, from, step, to, n, [](I u, I) { return u; });
  }
  with_sources<Ints>(ints_a, a_step, ints_b, b_step, [=](auto left, auto right) {
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      store_i(to + i, select(load_mask(condition + i), left.at(i), right.at(i)));
    }
    if (i < n) {
      uint8_t rest[kLanes] = {};
      for (int64_t j = i; j < n; ++j) rest[j - i] = condition[j];
      store_part_i(to + i, select(load_mask(rest), left.part(i, n - i), right.part(i, n - i)),
                   n - i);
    }
  });
}

void f16_to_f32(const uint16_t* x, float* y, int64_t n) noexcept {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(y + i, load_f16(x + i));
  if (i < n) store_part(y + i, load_part_f16(x + i, n - i), n - i);
}
void bf16_to_f32(const uint16_t* x, float* y, int64_t n) noexcept {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(y + i, load_bf16(x + i));
  if (i < n) store_part(y + i, load_part_bf16(x + i, n - i), n - i);
}
void f32_to_f16(const float* x, uint16_t* y, int64_t n) noexcept {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store_f16(y + i, load(x + i));
  if (i < n) {
    uint16_t rest[kLanes];
    store_f16(rest, load_part(x + i, n - i));
    for (int64_t j = i; j < n; ++j) y[j] = rest[j - i];
  }
}
void f32_to_bf16(const float* x, uint16_t* y, int64_t n) noexcept {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store_low_halves(y + i, to_bf16(load(x + i)));
  if (i < n) {
    uint16_t rest[kLanes];
    store_low_halves(rest, to_bf16(load_part(x + i, n - i)));
    for (int64_t j = i; j < n; ++j) y[j] = rest[j - i];
  }
}
void i32_to_f32(const int32_t* x, float* y, int64_t n) noexcept {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(y + i, to_float(load_i(x + i)));
  if (i < n) store_part(y + i, to_float(load_part_i(x + i, n - i)), n - i);
}
// Converts values out of range by saturating; the vector instructions differ there.
PIPPIN_VEC I to_int_saturated(F x) {
  const I value = select(set(0x1p31f) <= x, set_i(INT32_MAX), truncate(x));
  return select(x < set(-0x1p31f), set_i(INT32_MIN), select(is_nan(x), set_i(0), value));
}
void f32_to_i32(const float* x, int32_t* y, int64_t n) noexcept {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store_i(y + i, to_int_saturated(load(x + i)));
  if (i < n) store_part_i(y + i, to_int_saturated(load_part(x + i, n - i)), n - i);
}

}  // namespace
}  // namespace pippin::kernels

// Must follow map(), which it uses.
#include "pippin/kernels/elementwise/vector_codes.h"

namespace pippin::kernels {
namespace {

constexpr ElementwiseKernels table(const char* name) {
  return {name,       unary,      binary,     binary_i32,     compare,     compare_i32,
          select_any, f16_to_f32, f32_to_f16, bf16_to_f32,    f32_to_bf16, i32_to_f32,
          f32_to_i32, quantize,   dequantize, round_to_codes, pair_codes};
}

}  // namespace
}  // namespace pippin::kernels
