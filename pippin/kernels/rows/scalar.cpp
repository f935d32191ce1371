// The reference: sums in double, one after another.
#include <cmath>
#include <limits>

#include "pippin/kernels/rows/args.h"

namespace pippin::kernels {
namespace {

// Calls body(x row, y row, i) for each row.
template <typename Body>
void for_rows(const RowsArgs& a, const Body& body) {
  for (int64_t i = 0; i < a.m; ++i) body(a.x + i * a.x_stride, a.y + i * a.y_stride, i);
}

double max_of(const float* x, int64_t n) {
  double max = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < n; ++i) {
    if (std::isnan(x[i])) return double{x[i]};
    max = std::fmax(max, double{x[i]});
  }
  return max;
}

void rms_norm(const RowsArgs& args, const float* gamma, float eps) noexcept {
  for_rows(args, [&](const float* x, float* y, int64_t) {
    double squares = 0;
    for (int64_t i = 0; i < args.n; ++i) squares += double{x[i]} * double{x[i]};
    const double scale = 1 / std::sqrt(squares / static_cast<double>(args.n) + double{eps});
    for (int64_t i = 0; i < args.n; ++i) {
      y[i] = static_cast<float>(double{x[i]} * scale * (gamma != nullptr ? double{gamma[i]} : 1));
    }
  });
}

void layer_norm(const RowsArgs& args, const float* gamma, const float* beta, float eps) noexcept {
  for_rows(args, [&](const float* x, float* y, int64_t) {
    double mean = 0;
    for (int64_t i = 0; i < args.n; ++i) mean += double{x[i]};
    mean /= static_cast<double>(args.n);
    double variance = 0;
    for (int64_t i = 0; i < args.n; ++i) variance += (double{x[i]} - mean) * (double{x[i]} - mean);
    const double scale = 1 / std::sqrt(variance / static_cast<double>(args.n) + double{eps});
    for (int64_t i = 0; i < args.n; ++i) {
      const double value = (double{x[i]} - mean) * scale;
      y[i] = static_cast<float>(value * (gamma != nullptr ? double{gamma[i]} : 1) +
                                (beta != nullptr ? double{beta[i]} : 0));
    }
  });
}

void softmax(const RowsArgs& args) noexcept {
  for_rows(args, [&](const float* x, float* y, int64_t) {
    const double max = max_of(x, args.n);
    double sum = 0;
    for (int64_t i = 0; i < args.n; ++i) sum += std::exp(double{x[i]} - max);
    for (int64_t i = 0; i < args.n; ++i) {
      y[i] = static_cast<float>(std::exp(double{x[i]} - max) / sum);
    }
  });
}

double reduced(ReduceOp op, const float* x, int64_t n) {
  double sum = 0;
  switch (op) {
    case ReduceOp::Sum:
    case ReduceOp::Mean:
      for (int64_t i = 0; i < n; ++i) sum += double{x[i]};
      return op == ReduceOp::Mean ? sum / static_cast<double>(n) : sum;
    case ReduceOp::SumOfSquares:
      for (int64_t i = 0; i < n; ++i) sum += double{x[i]} * double{x[i]};
      return sum;
    case ReduceOp::Max:
      return max_of(x, n);
    case ReduceOp::Min: {
      double min = std::numeric_limits<double>::infinity();
      for (int64_t i = 0; i < n; ++i) {
        if (std::isnan(x[i])) return double{x[i]};
        min = std::fmin(min, double{x[i]});
      }
      return min;
    }
    case ReduceOp::LogSumExp: {
      const double max = max_of(x, n);
      if (std::isinf(max)) return max;
      for (int64_t i = 0; i < n; ++i) sum += std::exp(double{x[i]} - max);
      return max + std::log(sum);
    }
  }
  return sum;
}

void reduce(ReduceOp op, const RowsArgs& args) noexcept {
  for_rows(args, [&](const float* x, float* y, int64_t) {
    *y = static_cast<float>(reduced(op, x, args.n));
  });
}

// x * factor, with the limit at -inf, where factor is 0.
double limited(double x, double factor) {
  return factor == 0 ? 0 : x * factor;
}

double gate(GateOp op, double x) {
  constexpr double kSqrtHalf = 0.70710678118654752440;
  constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  switch (op) {
    case GateOp::Silu:
      return limited(x, sigmoid(x));
    case GateOp::Gelu:
      return limited(x, 0.5 * std::erfc(-x * kSqrtHalf));
    case GateOp::GeluTanh:
      return limited(x, sigmoid(2 * kSqrtTwoOverPi * (x + 0.044715 * x * x * x)));
    case GateOp::GeluSigmoid:
      return limited(x, sigmoid(1.702 * x));
    case GateOp::Sigmoid:
      return sigmoid(x);
  }
  return x;
}

void gated(GateOp op, const RowsArgs& args, const float* up, int64_t up_stride) noexcept {
  for_rows(args, [&](const float* x, float* y, int64_t row) {
    for (int64_t i = 0; i < args.n; ++i) {
      y[i] = static_cast<float>(gate(op, double{x[i]}) * double{up[row * up_stride + i]});
    }
  });
}

// Consecutive elements of each half are `step` apart; the second half starts `distance` after the
// first.
void rotate(const RowsArgs& args, const RotaryAngles& angles, int64_t step, int64_t distance) {
  for_rows(args, [&](const float* x, float* y, int64_t row) {
    const float* c = angles.cos + row * angles.stride;
    const float* s = angles.sin + row * angles.stride;
    for (int64_t i = 0; i < args.n / 2; ++i) {
      const int64_t at = i * step, first = angles.half ? i : at,
                    second = angles.half ? i : at + distance;
      const double a = double{x[at]};
      const double b = double{x[at + distance]};
      y[at] = static_cast<float>(a * double{c[first]} - b * double{s[first]});
      y[at + distance] = static_cast<float>(b * double{c[second]} + a * double{s[second]});
    }
  });
}
void rotary(const RowsArgs& args, const RotaryAngles& angles) noexcept {
  rotate(args, angles, 1, args.n / 2);
}
void rotary_pairs(const RowsArgs& args, const RotaryAngles& angles) noexcept {
  rotate(args, angles, 2, 1);
}

}  // namespace

const RowsKernels rows_scalar = {
    "rows_scalar", rms_norm, layer_norm, softmax, reduce, gated, rotary, rotary_pairs,
};

}  // namespace pippin::kernels
