// Copies, conversions, and the results of shape arithmetic.
#include "pippin/engine/cpu/steps.h"
#include "pippin/engine/weights/copy_operand.h"

namespace pippin::engine {
namespace {

class CopyStep : public Step {
 public:
  explicit CopyStep(const CpuFeatures& cpu) : kernels_(kernels::choose_elementwise(cpu)) {}
  void run(const StepContext& context) const noexcept override {
    copy_operand(context.operands[0], context.operands[1], kernels_, context.pool);
  }

 private:
  const kernels::ElementwiseKernels& kernels_;
};

class DimsStep : public Step {
 public:
  void run(const StepContext& context) const noexcept override {
    const Operand& to = context.operands[0];
    for (size_t i = 0; i < context.scalars.size(); ++i) {
      const int64_t value = context.scalars[i];
      switch (to.storage) {
        case Storage::I32:
          to.ints()[i] = static_cast<int32_t>(value);
          break;
        case Storage::Bool:
          to.bools()[i] = value != 0;
          break;
        default:
          to.floats()[i] = static_cast<float>(value);
          break;
      }
    }
  }
};

}  // namespace

StepPointer make_step_of(const CopyNode&, const StepSource& source) {
  return std::make_unique<CopyStep>(source.cpu());
}
StepPointer make_step_of(const DimsNode&, const StepSource&) {
  return std::make_unique<DimsStep>();
}

}  // namespace pippin::engine
