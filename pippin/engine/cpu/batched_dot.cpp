// Products of batches with computed matrices.
#include "pippin/engine/cpu/steps.h"
#include "pippin/engine/weights/weight_type.h"
#include "pippin/kernels/dot/dot.h"

namespace pippin::engine {
namespace {

class BatchedDotStep : public Step {
 public:
  BatchedDotStep(Storage weights, const ComputeOptions& options)
      : kernel_(kernels::choose_dot(weight_type(weights), options.cpu)),
        batch_invariant_(options.batch_invariant) {}

  std::string kernel_name() const override { return kernel_.name; }

  int64_t scratch_bytes() const override {
    return batch_invariant_ || views[1].shape[1].upper() < kernels::kManyRows ? 0 : kPanelBytes;
  }

  void run(const StepContext& context) const noexcept override {
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    const Operand& w = context.operands[2];
    const int64_t batches = y.shape[0], m = y.shape[1], n = y.shape[2], k = x.shape[2];
    const auto batch_args = [&](int64_t batch) {
      kernels::DotArgs args{};
      args.x = x.floats() + batch * x.strides[0];
      args.x_stride = x.strides[1];
      args.w = w.data + batch * w.strides[0] * element_size(w.storage);
      args.w_stride = w.strides[1];
      args.bias = context.operands.size() > 3 ? context.operands[3].floats() : nullptr;
      args.y = y.floats() + batch * y.strides[0];
      args.y_stride = y.strides[1];
      args.m = m;
      args.n = n;
      args.k = k;
      return args;
    };
    // One thread's share of the columns of one batch.
    const bool panels = !batch_invariant_ && m >= kernels::kManyRows &&
                        kernels::packed_floats(kernel_, n, k) <= kernels::kMostPacked;
    const auto multiply = [&](int thread, const kernels::DotArgs& args) {
      if (!panels) return kernel_.function(args);
      auto* packed = reinterpret_cast<float*>(context.scratch + thread * kPanelBytes);
      kernels::dot_many_rows(kernel_, args, packed, [](Range, Range) {});
    };
    constexpr int64_t kWorthSharing = int64_t{1} << 19;  // products: about 25 us of one thread
    if (batches * m * n * k < kWorthSharing) {
      for (int64_t batch = 0; batch < batches; ++batch) multiply(0, batch_args(batch));
      return;
    }
    context.pool.run([&](int part, int parts) {
      if (batches == 1) {
        const Range columns = split_range(n, part, parts, kernel_.n_grain);
        if (columns.begin == columns.end) return;
        multiply(part,
                 kernels::dot_columns(batch_args(0), kernel_.weight, columns.begin, columns.end));
        return;
      }
      const Range share = split_range(batches, part, parts);
      for (int64_t batch = share.begin; batch < share.end; ++batch) {
        multiply(part, batch_args(batch));
      }
    });
  }

 private:
  static constexpr int64_t kPanelBytes = kernels::kMostPacked * sizeof(float);

  const kernels::DotKernel& kernel_;
  bool batch_invariant_;
};

}  // namespace

StepPointer make_step_of(const BatchedDotNode&, const StepSource& source) {
  return std::make_unique<BatchedDotStep>(source.node.views[2].storage, source.options);
}

}  // namespace pippin::engine
