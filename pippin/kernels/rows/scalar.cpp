// The reference: sums in double, one after the other.
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

void silu_mul(const RowsArgs& args, const float* up, int64_t up_stride) noexcept {
  for_rows(args, [&](const float* x, float* y, int64_t row) {
    for (int64_t i = 0; i < args.n; ++i) {
      const double value = double{x[i]};
      const double gate = 1 / (1 + std::exp(-value));
      y[i] = static_cast<float>((gate == 0 ? 0 : value * gate) * double{up[row * up_stride + i]});
    }
  });
}

void rotary(const RowsArgs& args, const float* cos, const float* sin,
            int64_t angle_stride) noexcept {
  const int64_t half = args.n / 2;
  for_rows(args, [&](const float* x, float* y, int64_t row) {
    const float* c = cos + row * angle_stride;
    const float* s = sin + row * angle_stride;
    for (int64_t i = 0; i < half; ++i) {
      const double a = double{x[i]};
      const double b = double{x[i + half]};
      y[i] = static_cast<float>(a * double{c[i]} - b * double{s[i]});
      y[i + half] = static_cast<float>(b * double{c[i + half]} + a * double{s[i + half]});
    }
  });
}

}  // namespace

const RowsKernels rows_scalar = {
    "rows_scalar", rms_norm, layer_norm, softmax, reduce, silu_mul, rotary,
};

}  // namespace pippin::kernels
