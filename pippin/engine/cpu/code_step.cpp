// 8-bit quantized values.
#include <algorithm>

#include "pippin/engine/cpu/steps.h"
#include "pippin/kernels/elementwise/elementwise.h"

namespace pippin::engine {
namespace {

// Calls body(row, first, count) for pieces of all rows of `size` elements, on as many threads as
// pays off.
template <typename Body>
void for_pieces(const StepContext& context, int64_t rows, int64_t size, const Body& body) {
  const int64_t count = rows * size;
  const auto share = [&](Range range) {
    for (int64_t i = range.begin; i < range.end;) {
      const int64_t some = std::min(size - i % size, range.end - i);
      body(i / size, i % size, some);
      i += some;
    }
  };
  constexpr int64_t kWorthSharing = int64_t{1} << 14;
  share_out(context, count, count >= kWorthSharing, share);
}

class CodeStep : public Step {
 public:
  CodeStep(const CpuFeatures& cpu, const CodeNode& node)
      : kernels_(kernels::choose_elementwise(cpu)), node_(node) {}
  void run(const StepContext& context) const noexcept override {
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    const int64_t slices = y.shape[1], inner = y.shape[2];
    for_pieces(context, y.shape[0] * slices, inner, [&](int64_t row, int64_t first, int64_t count) {
      const kernels::CodeScale& scale = node_.slices[static_cast<size_t>(row % slices)];
      const int64_t at = row * inner + first;
      switch (node_.op) {
        case CodeOp::Quantize:
          return kernels_.quantize(x.floats() + at, y.ints() + at, count, scale);
        case CodeOp::Dequantize:
          return kernels_.dequantize(x.ints() + at, y.floats() + at, count, scale);
        case CodeOp::Round:
          return kernels_.round_to_codes(x.floats() + at, y.floats() + at, count, scale);
      }
    });
  }

 private:
  const kernels::ElementwiseKernels& kernels_;
  const CodeNode& node_;
};

class PairStep : public Step {
 public:
  PairStep(const CpuFeatures& cpu, const kernels::CodeScale& scale)
      : kernels_(kernels::choose_elementwise(cpu)), scale_(scale) {}
  void run(const StepContext& context) const noexcept override {
    const Operand& y = context.operands[0];
    const Operand& x = context.operands[1];
    const int64_t pairs = y.shape[1], size = y.shape[2];
    for_pieces(context, y.shape[0] * pairs, size, [&](int64_t row, int64_t first, int64_t count) {
      const int64_t channel = row % pairs * 2;
      const float* from = x.floats() + row / pairs * x.strides[0] + channel * x.strides[1] + first;
      const float* next = channel + 1 < x.shape[1] ? from + x.strides[1] : nullptr;
      kernels_.pair_codes(from, next, y.ints() + row * size + first, count, scale_);
    });
  }

 private:
  const kernels::ElementwiseKernels& kernels_;
  kernels::CodeScale scale_;
};

}  // namespace

StepPointer make_step_of(const CodeNode& node, const StepSource& source) {
  return std::make_unique<CodeStep>(source.cpu(), node);
}
StepPointer make_step_of(const PairNode& node, const StepSource& source) {
  return std::make_unique<PairStep>(source.cpu(), node.scale);
}

}  // namespace pippin::engine
