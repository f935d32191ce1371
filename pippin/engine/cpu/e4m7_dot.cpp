// Products with fp16 or bf16 weights that are kept in 12 bits.
#include <algorithm>

#include "pippin/engine/cpu/steps.h"
#include "pippin/engine/cpu/weight_step.h"
#include "pippin/engine/weights/e4m7_weight.h"

namespace pippin::engine {
namespace {

class E4M7DotStep : public WeightStep {
 public:
  E4M7DotStep(const CpuFeatures& cpu, const DotNode& dot)
      : WeightStep(cpu, dot, kernels::kE4M7Grain), kernels_(kernels::choose_e4m7(cpu)) {}

  std::string kernel_name() const override { return kernels_.name; }

  int64_t product_bytes() const override {
    int64_t sum = 0;
    for (size_t i = 0; i < dot().products.size(); ++i) sum += weight(i).read_bytes();
    return sum;
  }
  int64_t saved_bytes(std::set<const std::byte*>& counted) const override {
    int64_t sum = 0;
    for (size_t i = 0; i < dot().products.size(); ++i) {
      if (counted.insert(weight(i).bytes.get()).second) sum += weight(i).saved_bytes();
    }
    return sum;
  }
  int64_t thread_scratch(int64_t m) const override {
    const int64_t rows = std::min(m, kernels_.lifted_rows);
    return rows * lifted_stride() * static_cast<int64_t>(sizeof(float));
  }

  void multiply(const WeightContext& context) const noexcept override {
    const Operand& x = context.operands[num_written];
    const int64_t m = x.shape[0], bytes = thread_scratch(m);
    share_columns(context, [&](int thread) {
      // Every thread converts the few rows for itself, which is quicker than another barrier.
      kernels::E4M7Lifted lifted{
          reinterpret_cast<float*>(context.scratch + thread * bytes), lifted_stride(), {}};
      if (m <= kernels_.lifted_rows) {
        kernels_.lift(x.floats(), x.strides[0], m, x.shape[1], lifted);
      }
      return [&, lifted, m](Range columns) {
        for_products(context, columns, [&](const Operands& operands, int64_t begin, int64_t end) {
          kernels_.dot({&weight(operands.product).matrix, x.floats(), x.strides[0], operands.bias,
                        operands.y.floats(), operands.y.strides[0], m, begin, end, &lifted});
        });
      };
    });
  }

 private:
  const E4M7Weight& weight(size_t product) const {
    return *std::get<std::shared_ptr<const E4M7Weight>>(dot().products[product].weight);
  }
  int64_t lifted_stride() const { return kernels::e4m7_lifted_stride(weight(0).matrix.k); }

  const kernels::E4M7Kernels& kernels_;
};

}  // namespace

StepPointer make_e4m7_dot(const DotNode& dot, const StepSource& source) {
  return std::make_unique<E4M7DotStep>(source.cpu(), dot);
}

}  // namespace pippin::engine
