#include "pippin/engine/cpu/launch.h"
#include "pippin/engine/cpu/steps.h"
#include "pippin/engine/run/strided.h"
#include "pippin/kernels/rows/rows.h"

namespace pippin::engine {
namespace {

void rotate(const kernels::RowsKernels& kernels, bool pairs, std::span<const Operand> operands,
            ThreadPool& pool) {
  std::array<Operand, 4> rows;
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = operands[i];
    --rows[i].rank;
  }
  const int last = rows[0].rank;
  const int64_t n = operands[1].shape[last];
  const bool half = operands[2].shape[last] != n;
  const StridedLoop<4> loop(rows);
  loop.run_parallel(
      pool,
      [&](const std::array<std::byte*, 4>& p, int64_t count) {
        const auto floats = [&](size_t i) { return reinterpret_cast<float*>(p[i]); };
        const kernels::RowsArgs args = {
            floats(1), loop.inner_strides[1], floats(0), loop.inner_strides[0], count, n};
        const kernels::RotaryAngles angles = {floats(2), floats(3), loop.inner_strides[2], half};
        (pairs ? kernels.rotary_pairs : kernels.rotary)(args, angles);
      },
      n);
}

class RotaryStep : public Step {
 public:
  RotaryStep(const CpuFeatures& cpu, bool pairs)
      : kernels_(kernels::choose_rows(cpu)), pairs_(pairs) {}
  void run(const StepContext& context) const noexcept override {
    rotate(kernels_, pairs_, context.operands, context.pool);
  }

 private:
  const kernels::RowsKernels& kernels_;
  bool pairs_;
};

}  // namespace

void launch(const RotaryNode& node, std::span<const Operand> operands, ThreadPool& pool) {
  static const kernels::RowsKernels& kernels = kernels::choose_rows(cpu_features());
  rotate(kernels, node.pairs, operands, pool);
}

StepPointer make_step_of(const RotaryNode& rotary, const StepSource& source) {
  return std::make_unique<RotaryStep>(source.cpu(), rotary.pairs);
}

}  // namespace pippin::engine
