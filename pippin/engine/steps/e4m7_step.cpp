#include "pippin/engine/steps/e4m7_step.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace pippin::engine {
namespace {

class E4M7DotStep : public WeightStep {
 public:
  E4M7DotStep(const CpuFeatures& cpu, std::string name, std::shared_ptr<const E4M7Weight> weight,
              bool bias)
      : WeightStep(cpu, std::move(name), {weight->matrix.n, /*weight_view=*/false, bias},
                   kernels::kE4M7Grain),
        weights_{std::move(weight)},
        kernels_(kernels::choose_e4m7(cpu)) {}

  int64_t weight_bytes() const override {
    int64_t sum = 0;
    for (const auto& weight : weights_) sum += weight->read_bytes();
    return sum;
  }
  int64_t saved_bytes(std::set<const std::byte*>& counted) const override {
    int64_t sum = 0;
    for (const auto& weight : weights_) {
      if (counted.insert(weight->bytes.get()).second) sum += weight->saved_bytes();
    }
    return sum;
  }
  int64_t scratch_bytes() const override { return scratch_bytes_of(x().shape[0].upper()); }
  int64_t scratch_bytes_of(int64_t m) const override {
    const int64_t rows = std::min(m, kernels_.lifted_rows);
    return rows * lifted_stride() * static_cast<int64_t>(sizeof(float));
  }

  void run(const StepContext& context) const noexcept override {
    const Operand& x = context.operands[num_written];
    const int64_t m = x.shape[0], bytes = scratch_bytes_of(m);
    share_columns(context, [&](int thread) {
      // Every thread lifts the few rows for itself, which is quicker than to meet once more.
      kernels::E4M7Lifted lifted{
          reinterpret_cast<float*>(context.scratch + thread * bytes), lifted_stride(), {}};
      if (m <= kernels_.lifted_rows) {
        kernels_.lift(x.floats(), x.strides[0], m, x.shape[1], lifted);
      }
      return [&, lifted, m](Range columns) {
        for_products(context, columns, [&](const Operands& operands, int64_t begin, int64_t end) {
          kernels_.dot({&weights_[operands.product]->matrix, x.floats(), x.strides[0],
                        operands.bias, operands.y.floats(), operands.y.strides[0], m, begin, end,
                        &lifted});
        });
      };
    });
  }

 protected:
  std::string kernel_name() const override { return kernels_.name; }
  std::unique_ptr<WeightStep> clone() const override {
    return std::make_unique<E4M7DotStep>(*this);
  }
  bool computes_like(const WeightStep& other) const override {
    return dynamic_cast<const E4M7DotStep*>(&other) != nullptr;
  }
  void take_weights(WeightStep& other) override {
    auto& theirs = static_cast<E4M7DotStep&>(other).weights_;
    weights_.insert(weights_.end(), std::make_move_iterator(theirs.begin()),
                    std::make_move_iterator(theirs.end()));
    theirs.clear();
  }

 private:
  int64_t lifted_stride() const { return kernels::e4m7_lifted_stride(weights_[0]->matrix.k); }

  std::vector<std::shared_ptr<const E4M7Weight>> weights_;
  const kernels::E4M7Kernels& kernels_;
};

}  // namespace

std::unique_ptr<Step> make_e4m7_dot(std::string name, std::shared_ptr<const E4M7Weight> weight,
                                    bool bias, const CpuFeatures& cpu) {
  return std::make_unique<E4M7DotStep>(cpu, std::move(name), std::move(weight), bias);
}

}  // namespace pippin::engine
