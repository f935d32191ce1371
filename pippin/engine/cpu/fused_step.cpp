// The parts of a fused node, one after another: the meaning of other devices' fusions.
#include <algorithm>

#include "pippin/engine/cpu/steps.h"

namespace pippin::engine {
namespace {

class FusedStep : public Step {
 public:
  FusedStep(const FusedNode& node, const ComputeOptions& options) : node_(node) {
    steps_.reserve(node.parts.size());
    for (const Node& part : node.parts) steps_.push_back(make_step(part, options));
  }

  int64_t scratch_bytes() const override {
    int64_t most = 0;
    for (const StepPointer& step : steps_) most = std::max(most, step->scratch_bytes());
    return most;
  }
  void run(const StepContext& context) const noexcept override {
    for (size_t i = 0; i < steps_.size(); ++i) {
      const auto operands = part_of(node_, i, context.operands);
      steps_[i]->run({operands, scalars_of_part(node_, i, context.scalars), context.pool,
                      context.scratch, context.error});
    }
  }

 private:
  const FusedNode& node_;
  std::vector<StepPointer> steps_;
};

}  // namespace

StepPointer make_step_of(const FusedNode& node, const StepSource& source) {
  return std::make_unique<FusedStep>(node, source.options);
}

}  // namespace pippin::engine
