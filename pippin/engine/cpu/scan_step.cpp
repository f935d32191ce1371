#include "pippin/engine/cpu/scan_lines.h"
#include "pippin/engine/cpu/steps.h"

namespace pippin::engine {
namespace {

class CumulativeSumStep : public Step {
 public:
  explicit CumulativeSumStep(const CumulativeSumNode& node) : node_(node) {}
  void run(const StepContext& context) const noexcept override {
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    const ScanArgs args{y.shape[0],      y.shape[1],
                        y.shape[2],      {x.strides[0], x.strides[1], x.strides[2]},
                        node_.exclusive, node_.reverse};
    const auto plus = [](auto a, auto b) { return a + b; };
    if (y.storage == Storage::F32) {
      // Over long lines, single precision would lose the last terms.
      scan_lines(context.pool, args, x.floats(), y.floats(), 0.0, plus);
    } else {
      scan_lines(context.pool, args, x.ints(), y.ints(), uint32_t{0}, plus);
    }
  }

 private:
  const CumulativeSumNode& node_;
};

}  // namespace

StepPointer make_step_of(const CumulativeSumNode& node, const StepSource&) {
  return std::make_unique<CumulativeSumStep>(node);
}

}  // namespace pippin::engine
