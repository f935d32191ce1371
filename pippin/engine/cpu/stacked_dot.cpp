// Products of each batch with a matrix of its own, in its stored form: the heads' parts of latent
// attention.
#include <algorithm>
#include <utility>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/engine/cpu/expert_matrices.h"
#include "pippin/engine/cpu/steps.h"

namespace pippin::engine {
namespace {

class StackedDotStep : public Step {
 public:
  StackedDotStep(std::unique_ptr<const ExpertMatrices> matrices, int64_t batches)
      : matrices_(std::move(matrices)), batches_(batches) {}

  std::string kernel_name() const override { return matrices_->name(); }
  int64_t weight_bytes() const override { return batches_ * matrices_->bytes(); }
  int64_t scratch_bytes() const override {
    return formed_bytes(views[1].shape[1].upper()) + matrices_->scratch_bytes();
  }

  void run(const StepContext& context) const noexcept override {
    constexpr int64_t kWorthSharing = int64_t{1} << 19;  // products: about 25 us of one thread
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    const int64_t m = x.shape[1], own = scratch_bytes();
    if (m == 0) return;
    const auto multiply = [&](int thread, Range share) {
      std::byte* scratch = context.scratch + thread * own;
      std::byte* formed = scratch + matrices_->scratch_bytes();
      for (int64_t batch = share.begin; batch < share.end; ++batch) {
        matrices_->form({x.floats() + batch * x.strides[0], x.strides[1], m, nullptr}, formed);
        matrices_->dot(batch, formed, m, nullptr, y.floats() + batch * y.strides[0], y.strides[1],
                       0, matrices_->n, scratch);
      }
    };
    if (batches_ * m * matrices_->n * matrices_->k < kWorthSharing) {
      return multiply(0, {0, batches_});
    }
    context.pool.run(
        [&](int part, int parts) { multiply(part, split_range(batches_, part, parts)); });
  }

 private:
  // The form of a few rows may need more memory than that of many.
  int64_t formed_bytes(int64_t most) const {
    constexpr int64_t kSizes =
        40;  // the forms for a few rows and for many rows are among these sizes
    int64_t bytes = matrices_->formed_bytes(most);
    for (int64_t rows = 1; rows <= std::min(most, kSizes); ++rows) {
      bytes = std::max(bytes, matrices_->formed_bytes(rows));
    }
    return bytes;
  }

  std::unique_ptr<const ExpertMatrices> matrices_;
  int64_t batches_;
};

}  // namespace

StepPointer make_step_of(const StackedDotNode& node, const StepSource& source) {
  return std::make_unique<StackedDotStep>(make_experts(node.weight, source.options),
                                          node.weight.count);
}

}  // namespace pippin::engine
