#include "pippin/engine/weights/dense_step.h"

namespace pippin::engine {

kernels::WeightType weight_type(Storage storage) {
  return storage == Storage::F16    ? kernels::WeightType::F16
         : storage == Storage::BF16 ? kernels::WeightType::BF16
                                    : kernels::WeightType::F32;
}

namespace {

class DenseDotStep : public WeightStep {
 public:
  DenseDotStep(const CpuFeatures& cpu, std::string name, int64_t n,
               const kernels::DotKernel& kernel, bool bias)
      : WeightStep(cpu, std::move(name), {n, /*weight_view=*/true, bias}, kernel.n_grain),
        kernel_(kernel) {}

  int64_t weight_bytes() const override {
    const int64_t k = x().shape[1].upper();
    return num_columns() * k * kernels::bytes_per_weight(kernel_.weight);
  }

  void run(const StepContext& context) const noexcept override {
    const Operand& x = context.operands[num_written];
    const auto multiply = [&](Range columns) {
      for_products(context, columns, [&](const Operands& operands, int64_t begin, int64_t end) {
        const Operand& w = *operands.w;
        const kernels::DotArgs args = {
            x.floats(),          x.strides[0],          w.data,     w.strides[0], operands.bias,
            operands.y.floats(), operands.y.strides[0], x.shape[0], w.shape[0],   x.shape[1]};
        kernel_.function(kernels::dot_columns(args, kernel_.weight, begin, end));
      });
    };
    share_columns(context, [&](int) { return multiply; });
  }

 protected:
  std::string kernel_name() const override { return kernel_.name; }
  std::unique_ptr<WeightStep> clone() const override {
    return std::make_unique<DenseDotStep>(*this);
  }
  bool computes_like(const WeightStep& other) const override {
    const auto* step = dynamic_cast<const DenseDotStep*>(&other);
    return step != nullptr && &step->kernel_ == &kernel_;
  }
  void take_weights(WeightStep&) override {}  // they are views

 private:
  const kernels::DotKernel& kernel_;
};

}  // namespace

std::unique_ptr<Step> make_dense_dot(std::string name, const View& w, bool bias,
                                     const CpuFeatures& cpu) {
  const kernels::DotKernel& kernel = kernels::choose_dot(weight_type(w.storage), cpu);
  return std::make_unique<DenseDotStep>(cpu, std::move(name), w.shape[0].constant(), kernel, bias);
}

}  // namespace pippin::engine
