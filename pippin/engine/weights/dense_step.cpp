#include "pippin/engine/weights/dense_step.h"

#include "pippin/base/checked.h"

namespace pippin::engine {

kernels::WeightType weight_type(Storage storage) {
  return storage == Storage::F16    ? kernels::WeightType::F16
         : storage == Storage::BF16 ? kernels::WeightType::BF16
                                    : kernels::WeightType::F32;
}

namespace {

enum class Rows { Any, Steady, Packed };  // Packed: of w, for many of x

class DenseDotStep : public WeightStep {
 public:
  DenseDotStep(const CpuFeatures& cpu, std::string name, int64_t n,
               const kernels::DotKernel& kernel, bool bias, Rows rows)
      : WeightStep(cpu, std::move(name), {n, /*weight_view=*/true, bias}, kernel.n_grain),
        kernel_(kernel),
        rows_(rows) {}

  int64_t weight_bytes() const override {
    const auto stored = is_packed() ? kernels::WeightType::F32 : kernel_.weight;
    return num_columns() * x().shape[1].upper() * kernels::bytes_per_weight(stored);
  }

  int row_axis() const override { return rows_ == Rows::Steady ? WeightStep::row_axis() : -1; }

  int64_t scratch_bytes() const override {
    return takes_panels(x().shape[0].upper()) ? panel_bytes(x().shape[1].upper()) : 0;
  }

  void run(const StepContext& context) const noexcept override {
    const Operand& x = context.operands[num_written];
    const auto args_of = [&](const Operands& operands, int64_t begin, int64_t end) {
      const Operand& w = *operands.w;
      const kernels::DotArgs args = {
          x.floats(),          x.strides[0],          w.data,     w.strides[0], operands.bias,
          operands.y.floats(), operands.y.strides[0], x.shape[0], w.shape[0],   x.shape[1]};
      return kernels::dot_columns(args, kernel_.weight, begin, end);
    };
    if (!takes_panels(x.shape[0])) {
      share_columns(context, [&](int) {
        return [&](Range columns) {
          for_products(context, columns, [&](const Operands& operands, int64_t begin, int64_t end) {
            kernel_.function(args_of(operands, begin, end));
          });
        };
      });
      return;
    }
    // Fewer columns of a piece would read x more often than is worth it.
    const int64_t least = 2 * kernel_.n_grain, bytes = panel_bytes(x.shape[1]);
    const auto make_worker = [&](int thread) {
      auto* packed = reinterpret_cast<float*>(context.scratch + thread * bytes);
      return [&, packed](Range columns) {
        for_unfinished(context, columns, [&](const Operands& operands, int64_t begin, int64_t end) {
          float* from = is_packed() ? operands.w->floats() + begin * x.shape[1] : packed;
          kernels::dot_many_rows(
              kernel_, args_of(operands, begin, end), from,
              [&](Range rows, Range part) {
                finish(context, operands.y, rows, {begin + part.begin, begin + part.end});
              },
              is_packed());
        });
      };
    };
    share_columns(context, make_worker, least);
  }

 protected:
  std::string kernel_name() const override {
    return is_packed() ? std::string("packed ") + kernel_.name : kernel_.name;
  }
  std::unique_ptr<WeightStep> clone() const override {
    return std::make_unique<DenseDotStep>(*this);
  }
  bool computes_like(const WeightStep& other) const override {
    const auto* step = dynamic_cast<const DenseDotStep*>(&other);
    return step != nullptr && &step->kernel_ == &kernel_ && step->rows_ == rows_;
  }
  void take_weights(WeightStep&) override {}  // they are views

 private:
  bool is_packed() const { return rows_ == Rows::Packed; }
  bool takes_panels(int64_t rows) const {
    return is_packed() || (rows_ == Rows::Any && rows >= kernels::kManyRows);
  }
  // Of one thread, for what is packed on the way.
  int64_t panel_bytes(int64_t k) const {
    if (is_packed()) return 0;
    constexpr int64_t kFloat = sizeof(float);
    return align_up<int64_t>(kernels::packed_floats(kernel_, num_columns(), k) * kFloat, 64);
  }

  const kernels::DotKernel& kernel_;
  Rows rows_;
};

}  // namespace

std::unique_ptr<Step> make_dense_dot(std::string name, const View& w, bool bias, bool steady_rows,
                                     const CpuFeatures& cpu) {
  const kernels::DotKernel& kernel = kernels::choose_dot(weight_type(w.storage), cpu);
  return std::make_unique<DenseDotStep>(cpu, std::move(name), w.shape[0].constant(), kernel, bias,
                                        steady_rows ? Rows::Steady : Rows::Any);
}

std::unique_ptr<Step> make_packed_dot(std::string name, int64_t n, const kernels::DotKernel& kernel,
                                      bool bias, const CpuFeatures& cpu) {
  return std::make_unique<DenseDotStep>(cpu, std::move(name), n, kernel, bias, Rows::Packed);
}

}  // namespace pippin::engine
