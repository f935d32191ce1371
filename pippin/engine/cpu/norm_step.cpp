// Norms and softmax.
#include <algorithm>
#include <cmath>

#include "pippin/engine/cpu/row_loop.h"
#include "pippin/engine/cpu/steps.h"
#include "pippin/kernels/elementwise/elementwise.h"

namespace pippin::engine {
namespace {

using kernels::BinaryOp;
using kernels::ElementwiseKernels;
using kernels::RowsArgs;
using kernels::RowsKernels;

class RmsNormStep : public Step {
 public:
  RmsNormStep(const CpuFeatures& cpu, float epsilon)
      : kernels_(kernels::choose_rows(cpu)), epsilon_(epsilon) {}
  void run(const StepContext& context) const noexcept override {
    const float* gamma = context.operands.size() > 2 ? context.operands[2].floats() : nullptr;
    run_row_shares(
        context, [&](const kernels::RowsArgs& args) { kernels_.rms_norm(args, gamma, epsilon_); });
  }

 private:
  const kernels::RowsKernels& kernels_;
  float epsilon_;
};

class SoftmaxStep : public Step {
 public:
  explicit SoftmaxStep(const CpuFeatures& cpu) : kernels_(kernels::choose_rows(cpu)) {}
  void run(const StepContext& context) const noexcept override {
    run_row_shares(context, [&](const RowsArgs& args) { kernels_.softmax(args); });
  }

 private:
  const RowsKernels& kernels_;
};

class LayerNormStep : public Step {
 public:
  LayerNormStep(const CpuFeatures& cpu, const LayerNormNode& norm)
      : kernels_(kernels::choose_rows(cpu)), norm_(norm) {}
  void run(const StepContext& context) const noexcept override {
    const float* gamma = norm_.has_gamma ? context.operands[2].floats() : nullptr;
    const float* beta =
        norm_.has_beta ? context.operands[norm_.has_gamma ? 3 : 2].floats() : nullptr;
    run_row_shares(context, [&](const RowsArgs& args) {
      kernels_.layer_norm(args, gamma, beta, norm_.epsilon);
    });
  }

 private:
  const RowsKernels& kernels_;
  const LayerNormNode& norm_;
};

class L2NormStep : public Step {
 public:
  L2NormStep(const CpuFeatures& cpu, double epsilon)
      : elementwise_(kernels::choose_elementwise(cpu)), epsilon_(epsilon) {}
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

class LocalResponseStep : public Step {
 public:
  LocalResponseStep(const CpuFeatures& cpu, const LocalResponseNode& numbers)
      : elementwise_(kernels::choose_elementwise(cpu)), numbers_(numbers) {}
  void run(const StepContext& context) const noexcept override {
    const Operand& y = context.operands[0];
    const int64_t blocks = (y.shape[2] + kBlock - 1) / kBlock, jobs = y.shape[0] * blocks;
    const auto share = [&](Range range) {
      for (int64_t job = range.begin; job < range.end; ++job) {
        normalize(context, job / blocks, job % blocks * kBlock);
      }
    };
    constexpr int64_t kWorthSharing = int64_t{1} << 13;
    share_out(context, jobs, y.size() >= kWorthSharing, share);
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
  const LocalResponseNode& numbers_;
};

class InstanceNormStep : public Step {
 public:
  InstanceNormStep(const CpuFeatures& cpu, const InstanceNormNode& norm)
      : rows_(kernels::choose_rows(cpu)),
        elementwise_(kernels::choose_elementwise(cpu)),
        norm_(norm) {}
  void run(const StepContext& context) const noexcept override {
    const Operand& y = context.operands[0];
    run_row_shares(context, [&](const kernels::RowsArgs& args) {
      const int64_t first = (args.y - y.floats()) / std::max<int64_t>(1, args.y_stride);
      for (int64_t i = 0; i < args.m; ++i) {
        const kernels::RowsArgs row = {args.x + i * args.x_stride,
                                       args.x_stride,
                                       args.y + i * args.y_stride,
                                       args.y_stride,
                                       1,
                                       args.n};
        rows_.layer_norm(row, nullptr, nullptr, norm_.epsilon);
        const auto channel = static_cast<size_t>(first + i) % norm_.gamma.size();
        elementwise_.unary(kernels::UnaryOp::Linear, row.y, row.y, args.n, norm_.gamma[channel],
                           norm_.beta[channel]);
      }
    });
  }

 private:
  const kernels::RowsKernels& rows_;
  const kernels::ElementwiseKernels& elementwise_;
  const InstanceNormNode& norm_;
};

}  // namespace

StepPointer make_step_of(const InstanceNormNode& norm, const StepSource& source) {
  return std::make_unique<InstanceNormStep>(source.cpu(), norm);
}
StepPointer make_step_of(const L2NormNode& norm, const StepSource& source) {
  return std::make_unique<L2NormStep>(source.cpu(), norm.epsilon);
}
StepPointer make_step_of(const LayerNormNode& norm, const StepSource& source) {
  return std::make_unique<LayerNormStep>(source.cpu(), norm);
}
StepPointer make_step_of(const LocalResponseNode& norm, const StepSource& source) {
  return std::make_unique<LocalResponseStep>(source.cpu(), norm);
}
StepPointer make_step_of(const RmsNormNode& norm, const StepSource& source) {
  return std::make_unique<RmsNormStep>(source.cpu(), norm.epsilon);
}
StepPointer make_step_of(const SoftmaxNode&, const StepSource& source) {
  return std::make_unique<SoftmaxStep>(source.cpu());
}

}  // namespace pippin::engine
