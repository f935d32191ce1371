#include <algorithm>

#include "pippin/engine/cpu/steps.h"
#include "pippin/engine/weights/block_rows.h"

namespace pippin::engine {
namespace {

class QuantizedGatherStep : public Step {
 public:
  QuantizedGatherStep(const QuantizedWeight& weight, const CpuFeatures& cpu)
      : weight_(weight), rows_(cpu) {}

  std::string kernel_name() const override { return rows_.kernels().name; }

  void run(const StepContext& context) const noexcept override {
    const kernels::QuantizedMatrix& w = weight_.matrix;
    const Operand& y = context.operands[0];
    const Operand& indices = context.operands[1];
    for (int64_t i = 0; i < y.shape[0]; ++i) {
      int64_t index = indices.ints()[i * indices.strides[0]];
      if (index < 0) index += w.n;
      index = std::clamp<int64_t>(index, 0, w.n - 1);
      rows_.expand(weight_, index, 0, w.k, y.floats() + i * y.strides[0]);
    }
  }

 private:
  const QuantizedWeight& weight_;
  WeightRows rows_;
};

}  // namespace

StepPointer make_step_of(const QuantizedGatherNode& gather, const StepSource& source) {
  return std::make_unique<QuantizedGatherStep>(*gather.weight, source.cpu());
}

}  // namespace pippin::engine
