// Products of batches with computed matrices.
#include "pippin/engine/cpu/computed_dot.h"
#include "pippin/engine/cpu/steps.h"

namespace pippin::engine {
namespace {

class BatchedDotStep : public Step {
 public:
  BatchedDotStep(Storage weights, const ComputeOptions& options)
      : dot_(weights, options.cpu,
             options.batch_invariant ? ComputedDot::kNever : kernels::kManyRows) {}

  std::string kernel_name() const override { return dot_.kernel().name; }

  int64_t scratch_bytes() const override {
    return dot_.most_scratch_floats(views[1].shape[1].upper()) * int64_t{sizeof(float)};
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
    auto* scratch = reinterpret_cast<float*>(context.scratch);
    const auto multiply = [&](Range share, int thread) {
      for (int64_t batch = share.begin; batch < share.end; ++batch) {
        dot_.run(batch_args(batch), scratch + thread * kernels::kMostPacked);
      }
    };
    constexpr int64_t kWorthSharing = int64_t{1} << 19;  // products: about 25 us of one thread
    if (batches * m * n * k < kWorthSharing) {
      multiply(Range{0, batches}, 0);
    } else if (batches == 1) {
      dot_.run(context.pool, batch_args(0), scratch, kernels::kMostPacked);
    } else {
      context.pool.run(
          [&](int part, int parts) { multiply(split_range(batches, part, parts), part); });
    }
  }

 private:
  ComputedDot dot_;
};

}  // namespace

StepPointer make_step_of(const BatchedDotNode&, const StepSource& source) {
  return std::make_unique<BatchedDotStep>(source.node.views[2].storage, source.options);
}

}  // namespace pippin::engine
