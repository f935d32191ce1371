// Products with weights as stored (fp32, fp16, bf16) or packed for the kernels.
#include "pippin/base/numbers/checked.h"
#include "pippin/engine/cpu/steps.h"
#include "pippin/engine/cpu/weight_step.h"
#include "pippin/engine/weights/weight_type.h"
#include "pippin/kernels/dot/dot.h"

namespace pippin::engine {
namespace {

enum class Rows { Any, BatchInvariant, Packed };  // Packed: panels of w, for many rows of x

class DenseDotStep : public WeightStep {
 public:
  DenseDotStep(const CpuFeatures& cpu, const DotNode& dot, const kernels::DotKernel& kernel,
               Rows rows)
      : WeightStep(cpu, dot, kernel.n_grain), kernel_(kernel), rows_(rows) {}

  std::string kernel_name() const override {
    return is_packed() ? std::string("packed ") + kernel_.name : kernel_.name;
  }

  int64_t product_bytes() const override {
    const auto stored = is_packed() ? kernels::WeightType::F32 : kernel_.weight;
    return num_columns() * x().shape[1].upper() * kernels::bytes_per_weight(stored);
  }

  int row_axis() const override {
    return rows_ == Rows::BatchInvariant ? WeightStep::row_axis() : -1;
  }

  int64_t thread_scratch(int64_t rows) const override {
    return takes_panels(rows) ? panel_bytes(x().shape[1].upper()) : 0;
  }

  void multiply(const WeightContext& context) const noexcept override {
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
    // With fewer columns in a piece, x would be read too often.
    const int64_t least = 2 * kernel_.n_grain, bytes = panel_bytes(x.shape[1]);
    const auto make_worker = [&](int thread) {
      auto* packed = reinterpret_cast<float*>(context.scratch + thread * bytes);
      return [&, packed](Range columns) {
        for_unfinished(context, columns, [&](const Operands& operands, int64_t begin, int64_t end) {
          float* from = is_packed() ? operands.w->floats() + begin * x.shape[1] : packed;
          kernels::dot_many_rows(
              kernel_, args_of(operands, begin, end), from,
              [&](Range rows, Range part) {
                finish(context, operands, rows, {begin + part.begin, begin + part.end});
              },
              is_packed());
        });
      };
    };
    share_columns(context, make_worker, {least, 0, 1});
  }

 private:
  bool is_packed() const { return rows_ == Rows::Packed; }
  bool takes_panels(int64_t rows) const {
    return is_packed() || (rows_ == Rows::Any && rows >= kernels::kManyRows);
  }
  // Memory of one thread for panels that are packed during the run.
  int64_t panel_bytes(int64_t k) const {
    if (is_packed()) return 0;
    constexpr int64_t kFloat = sizeof(float);
    return align_up<int64_t>(kernels::packed_floats(kernel_, num_columns(), k) * kFloat, 64);
  }

  const kernels::DotKernel& kernel_;
  Rows rows_;
};

}  // namespace

StepPointer make_dense_dot(const DotNode& dot, const StepSource& source) {
  const auto& weight = std::get<DenseWeight>(dot.products.front().weight);
  const Rows rows = weight.is_panels                 ? Rows::Packed
                    : source.options.batch_invariant ? Rows::BatchInvariant
                                                     : Rows::Any;
  return std::make_unique<DenseDotStep>(
      source.cpu(), dot, kernels::choose_dot(weight_type(weight.storage), source.cpu()), rows);
}

}  // namespace pippin::engine
