// rows.h over the vectors of vec/: an ISA file includes one vec header and vec/math.h, then this.
#pragma once

#include "pippin/kernels/rows/args.h"

namespace pippin::kernels {
namespace {

// Loads the last lanes of a row, with `fill` beyond its end.
PIPPIN_VEC F load_part_or(const float* p, int64_t n, float fill) {
  float copy[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) copy[i] = i < n ? p[i] : fill;
  return load(copy);
}

// Combines term(x[i]) over a row in four chains. `fill` is an x without effect.
template <typename Term, typename Combine>
PIPPIN_VEC F fold(const float* x, int64_t n, F start, float fill, Term term, Combine combine) {
  F a = start, b = start, c = start, d = start;
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    a = combine(term(load(x + i)), a);
    b = combine(term(load(x + i + kLanes)), b);
    c = combine(term(load(x + i + 2 * kLanes)), c);
    d = combine(term(load(x + i + 3 * kLanes)), d);
  }
  for (; i + kLanes <= n; i += kLanes) a = combine(term(load(x + i)), a);
  if (i < n) b = combine(term(load_part_or(x + i, n - i, fill)), b);
  return combine(combine(a, b), combine(c, d));
}

PIPPIN_VEC float sum_of(const float* x, int64_t n) {
  return sum(fold(
      x, n, set(0), 0, [](F v) { return v; }, [](F v, F total) { return total + v; }));
}
PIPPIN_VEC float sum_of_squares(const float* x, int64_t n) {
  F a = set(0), b = set(0), c = set(0), d = set(0);
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    const F va = load(x + i), vb = load(x + i + kLanes);
    const F vc = load(x + i + 2 * kLanes), vd = load(x + i + 3 * kLanes);
    a = fma(va, va, a), b = fma(vb, vb, b), c = fma(vc, vc, c), d = fma(vd, vd, d);
  }
  for (; i + kLanes <= n; i += kLanes) a = fma(load(x + i), load(x + i), a);
  if (i < n) {
    const F v = load_part(x + i, n - i);
    b = fma(v, v, b);
  }
  return sum((a + b) + (c + d));
}
// NaN if any element is NaN.
PIPPIN_VEC float max_of(const float* x, int64_t n) {
  const float low = -__builtin_inff();
  const F m = fold(
      x, n, set(low), low, [](F v) { return v; }, [](F v, F total) { return maximum(v, total); });
  return any(is_nan(m)) ? __builtin_nanf("") : max_lane(m);
}
PIPPIN_VEC float min_of(const float* x, int64_t n) {
  const float high = __builtin_inff();
  const F m = fold(
      x, n, set(high), high, [](F v) { return v; }, [](F v, F total) { return minimum(v, total); });
  return any(is_nan(m)) ? __builtin_nanf("") : min_lane(m);
}
PIPPIN_VEC float sum_of_exp(const float* x, int64_t n, float max) {
  const F shift = set(max);
  return sum(fold(
      x, n, set(0), -__builtin_inff(), [=](F v) { return exp(v - shift); },
      [](F v, F total) { return total + v; }));
}

// y[i] = op(lanes, i, x[i]) along a row; op loads its other operands through `lanes`.
struct Whole {
  PIPPIN_VEC F at(const float* p) const { return load(p); }
  PIPPIN_VEC void put(float* p, F value) const { store(p, value); }
};
struct Part {
  int64_t n;
  PIPPIN_VEC F at(const float* p) const { return load_part(p, n); }
  PIPPIN_VEC void put(float* p, F value) const { store_part(p, value, n); }
};
template <typename Op>
PIPPIN_VEC void map_row(const float* x, float* y, int64_t n, Op op) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(y + i, op(Whole(), i, load(x + i)));
  if (i < n) {
    const Part part = {n - i};
    store_part(y + i, op(part, i, part.at(x + i)), part.n);
  }
}

PIPPIN_VEC float inverse_root(float square) {
  return 1 / __builtin_sqrtf(square);
}

void rms_norm(const RowsArgs& a, const float* gamma, float eps) noexcept {
  for (int64_t row = 0; row < a.m; ++row) {
    const float* x = a.x + row * a.x_stride;
    float* y = a.y + row * a.y_stride;
    const float mean = sum_of_squares(x, a.n) / static_cast<float>(a.n);
    const F scale = set(inverse_root(mean + eps));
    if (gamma == nullptr) {
      map_row(x, y, a.n, [=](auto, int64_t, F v) { return v * scale; });
    } else {
      map_row(x, y, a.n,
              [=](auto lanes, int64_t i, F v) { return v * scale * lanes.at(gamma + i); });
    }
  }
}

void layer_norm(const RowsArgs& a, const float* gamma, const float* beta, float eps) noexcept {
  for (int64_t row = 0; row < a.m; ++row) {
    const float* x = a.x + row * a.x_stride;
    float* y = a.y + row * a.y_stride;
    const float mean = sum_of(x, a.n) / static_cast<float>(a.n);
    const F center = set(mean);
    const float squares = sum(fold(
        x, a.n, set(0), mean,
        [=](F v) {
          const F distance = v - center;
          return distance * distance;
        },
        [](F v, F total) { return total + v; }));
    const F scale = set(inverse_root(squares / static_cast<float>(a.n) + eps));
    map_row(x, y, a.n, [=](auto lanes, int64_t i, F v) {
      F value = (v - center) * scale;
      if (gamma != nullptr) value = value * lanes.at(gamma + i);
      if (beta != nullptr) value = value + lanes.at(beta + i);
      return value;
    });
  }
}

void softmax(const RowsArgs& a) noexcept {
  for (int64_t row = 0; row < a.m; ++row) {
    const float* x = a.x + row * a.x_stride;
    float* y = a.y + row * a.y_stride;
    const F max = set(max_of(x, a.n));  // NaN, inf and -inf alone give NaN
    F total = set(0);
    int64_t i = 0;
    for (; i + kLanes <= a.n; i += kLanes) {
      const F e = exp(load(x + i) - max);
      store(y + i, e);
      total = total + e;
    }
    if (i < a.n) {
      const F e = exp(load_part_or(x + i, a.n - i, -__builtin_inff()) - max);
      store_part(y + i, e, a.n - i);
      total = total + e;
    }
    const F scale = set(1 / sum(total));
    map_row(y, y, a.n, [=](auto, int64_t, F v) { return v * scale; });
  }
}

void reduce(ReduceOp op, const RowsArgs& a) noexcept {
  for (int64_t row = 0; row < a.m; ++row) {
    const float* x = a.x + row * a.x_stride;
    float* y = a.y + row * a.y_stride;
    switch (op) {
      case ReduceOp::Sum:
        *y = sum_of(x, a.n);
        break;
      case ReduceOp::Mean:
        *y = sum_of(x, a.n) / static_cast<float>(a.n);
        break;
      case ReduceOp::SumOfSquares:
        *y = sum_of_squares(x, a.n);
        break;
      case ReduceOp::Max:
        *y = max_of(x, a.n);
        break;
      case ReduceOp::Min:
        *y = min_of(x, a.n);
        break;
      case ReduceOp::LogSumExp: {
        const float max = max_of(x, a.n);
        const bool finite = max - max == 0;
        *y = finite ? max + __builtin_logf(sum_of_exp(x, a.n, max)) : max;
        break;
      }
    }
  }
}

template <typename Op>
PIPPIN_VEC void gated_by(const RowsArgs& a, const float* up, int64_t up_stride, Op op) {
  for (int64_t row = 0; row < a.m; ++row) {
    const float* factor = up + row * up_stride;
    map_row(a.x + row * a.x_stride, a.y + row * a.y_stride, a.n,
            [=](auto lanes, int64_t i, F v) { return op(v) * lanes.at(factor + i); });
  }
}
void gated_rows(GateOp op, const RowsArgs& a, const float* up, int64_t up_stride) noexcept {
  switch (op) {
    case GateOp::Silu:
      return gated_by(a, up, up_stride, [](F v) { return silu(v); });
    case GateOp::Gelu:
      return gated_by(a, up, up_stride, [](F v) { return gelu(v); });
    case GateOp::GeluTanh:
      return gated_by(a, up, up_stride, [](F v) { return gelu_tanh(v); });
    case GateOp::GeluSigmoid:
      return gated_by(a, up, up_stride, [](F v) { return gelu_sigmoid(v); });
    case GateOp::Sigmoid:
      return gated_by(a, up, up_stride, [](F v) { return sigmoid(v); });
  }
}

void rotary(const RowsArgs& a, const RotaryAngles& angles) noexcept {
  const int64_t half = a.n / 2, second_angle = angles.half ? 0 : half;
  for (int64_t row = 0; row < a.m; ++row) {
    const float* x = a.x + row * a.x_stride;
    float* y = a.y + row * a.y_stride;
    const float* c = angles.cos + row * angles.stride;
    const float* s = angles.sin + row * angles.stride;
    // Both halves are read before either is written: y may be x.
    map_row(x, y, half, [=](auto lanes, int64_t i, F first) {
      const F second = lanes.at(x + half + i);
      const int64_t other = second_angle + i;
      lanes.put(y + half + i, fma(second, lanes.at(c + other), first * lanes.at(s + other)));
      return fnma(second, lanes.at(s + i), first * lanes.at(c + i));
    });
  }
}
// Rarely used: left to the compiler.
void rotary_pairs(const RowsArgs& a, const RotaryAngles& angles) noexcept {
  const int64_t step = angles.half ? 1 : 2, second_angle = angles.half ? 0 : 1;
  for (int64_t row = 0; row < a.m; ++row) {
    const float* x = a.x + row * a.x_stride;
    float* y = a.y + row * a.y_stride;
    const float* c = angles.cos + row * angles.stride;
    const float* s = angles.sin + row * angles.stride;
    for (int64_t i = 0; i < a.n / 2; ++i) {
      const float first = x[2 * i], second = x[2 * i + 1];
      const int64_t angle = i * step, other = angle + second_angle;
      y[2 * i] = __builtin_fmaf(-second, s[angle], first * c[angle]);
      y[2 * i + 1] = __builtin_fmaf(second, c[other], first * s[other]);
    }
  }
}

constexpr RowsKernels table(const char* name) {
  return {name, rms_norm, layer_norm, softmax, reduce, gated_rows, rotary, rotary_pairs};
}

}  // namespace
}  // namespace pippin::kernels
