// l2_norm and local_response_norm: norms by sums of squares.
#include <algorithm>
#include <cmath>

#include "pippin/base/error.h"
#include "pippin/engine/cpu/row_loop.h"
#include "pippin/engine/lowering/axes.h"
#include "pippin/engine/lowering/rules.h"
#include "pippin/kernels/elementwise/elementwise.h"

namespace pippin::engine {
namespace {

using kernels::BinaryOp;
using kernels::ElementwiseKernels;

// y = x / sqrt(sum of x * x + epsilon); views: y [m, n], x [m, n].
class L2NormStep : public Step {
 public:
  L2NormStep(const CpuFeatures& cpu, double epsilon)
      : elementwise_(kernels::choose_elementwise(cpu)), epsilon_(epsilon) {}
  std::string name() const override { return "l2_norm"; }
  void run(const StepContext& context) const noexcept override {
    run_row_shares(context, [&](const kernels::RowsArgs& args) {
      for (int64_t i = 0; i < args.m; ++i) {
        const float* x = args.x + i * args.x_stride;
        double sum = epsilon_;
        for (int64_t k = 0; k < args.n; ++k) sum += double{x[k]} * double{x[k]};
        const auto norm = static_cast<float>(std::sqrt(sum));
        elementwise_.binary(BinaryOp::Div, x, 1, &norm, 0, args.y + i * args.y_stride, args.n);
      }
    });
  }

 private:
  const ElementwiseKernels& elementwise_;
  double epsilon_;
};

void l2_norm(Builder& builder, const mil::Operation& operation) {
  const View x = builder.contiguous(builder.floats(operation, "x"));
  const View y = builder.allocate(Storage::F32, x.shape);
  builder.emit_step<L2NormStep>({*matrix_view(y, 3), *matrix_view(x, 3)}, builder.cpu(),
                                float_param(builder, operation, "epsilon"));
  builder.define_output(operation, y);
}

// y = x / (k + alpha * sum of x * x over the nearest `size` channels) ^ beta; views: y, x, both
// [outer, channels, inner] without gaps.
class LocalResponseStep : public Step {
 public:
  struct Numbers {
    int64_t size;
    double alpha;  // of each of them
    float beta, k;
  };
  LocalResponseStep(const CpuFeatures& cpu, Numbers numbers)
      : elementwise_(kernels::choose_elementwise(cpu)), numbers_(numbers) {}
  std::string name() const override { return "local_response_norm"; }
  void run(const StepContext& context) const noexcept override {
    const Operand& y = context.operands[0];
    const int64_t blocks = (y.shape[2] + kBlock - 1) / kBlock, jobs = y.shape[0] * blocks;
    const auto share = [&](Range range) {
      for (int64_t job = range.begin; job < range.end; ++job) {
        normalize(context, job / blocks, job % blocks * kBlock);
      }
    };
    constexpr int64_t kWorthSharing = int64_t{1} << 13;
    if (y.size() < kWorthSharing) {
      share(Range{0, jobs});
    } else {
      context.pool.run([&](int part, int parts) { share(split_range(jobs, part, parts)); });
    }
  }

 private:
  static constexpr int64_t kBlock = 128;

  void normalize(const StepContext& context, int64_t outer, int64_t first) const noexcept {
    const Operand& y = context.operands[0];
    const int64_t channels = y.shape[1], inner = y.shape[2];
    const int64_t count = std::min(kBlock, inner - first);
    const float* x = context.operands[1].floats() + outer * channels * inner + first;
    float* to = y.floats() + outer * channels * inner + first;
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t begin = std::max<int64_t>(0, c - numbers_.size / 2);
      const int64_t last = std::min(channels - 1, c + (numbers_.size - 1) / 2);
      double sums[kBlock] = {};
      for (int64_t i = begin; i <= last; ++i) {
        const float* row = x + i * inner;
        for (int64_t n = 0; n < count; ++n) sums[n] += double{row[n]} * double{row[n]};
      }
      float bases[kBlock];
      for (int64_t n = 0; n < count; ++n) {
        bases[n] = static_cast<float>(double{numbers_.k} + numbers_.alpha * sums[n]);
      }
      elementwise_.binary(BinaryOp::Pow, bases, 1, &numbers_.beta, 0, bases, count);
      elementwise_.binary(BinaryOp::Div, x + c * inner, 1, bases, 1, to + c * inner, count);
    }
  }

  const ElementwiseKernels& elementwise_;
  Numbers numbers_;
};

void local_response_norm(Builder& builder, const mil::Operation& operation) {
  const View x = builder.contiguous(builder.floats(operation, "x"));
  const View y = builder.allocate(Storage::F32, x.shape);
  const int64_t size = int_param(builder, operation, "size");
  builder.emit_step<LocalResponseStep>(
      {around_axis(builder, y, 1), around_axis(builder, x, 1)}, builder.cpu(),
      LocalResponseStep::Numbers{
          size, float_param(builder, operation, "alpha") / static_cast<double>(size),
          static_cast<float>(float_param(builder, operation, "beta")),
          static_cast<float>(float_param(builder, operation, "k"))});
  builder.define_output(operation, y);
}

}  // namespace

void add_norm_rules(Rules& rules) {
  rules["l2_norm"] = l2_norm;
  rules["local_response_norm"] = local_response_norm;
}

}  // namespace pippin::engine
