// Operations along axes that keep their shape: softmax and norms.
#include <algorithm>
#include <cmath>

#include "pippin/engine/cpu/row_loop.h"
#include "pippin/engine/lowering/axes.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

using kernels::RowsArgs;
using kernels::RowsKernels;

class SoftmaxStep : public Step {
 public:
  explicit SoftmaxStep(const CpuFeatures& cpu) : kernels_(kernels::choose_rows(cpu)) {}
  std::string name() const override { return "softmax"; }
  void run(const StepContext& context) const noexcept override {
    run_row_shares(context, [&](const RowsArgs& args) { kernels_.softmax(args); });
  }

 private:
  const RowsKernels& kernels_;
};

class LayerNormStep : public Step {
 public:
  LayerNormStep(const CpuFeatures& cpu, float epsilon, bool has_gamma, bool has_beta)
      : kernels_(kernels::choose_rows(cpu)),
        epsilon_(epsilon),
        has_gamma_(has_gamma),
        has_beta_(has_beta) {}
  std::string name() const override { return "layer_norm"; }
  void run(const StepContext& context) const noexcept override {
    const float* gamma = has_gamma_ ? context.operands[2].floats() : nullptr;
    const float* beta = has_beta_ ? context.operands[has_gamma_ ? 3 : 2].floats() : nullptr;
    run_row_shares(context,
                   [&](const RowsArgs& args) { kernels_.layer_norm(args, gamma, beta, epsilon_); });
  }

 private:
  const RowsKernels& kernels_;
  float epsilon_;
  bool has_gamma_, has_beta_;
};

void softmax(Builder& builder, const mil::Operation& operation) {
  const View x = builder.floats(operation, "x");
  const int64_t axis = normalize_axis(int_param(builder, operation, "axis"), x.rank());
  const auto perm = axes_last({axis}, x.rank());
  const View last = transpose_view(x, perm);
  const View rows = builder.matrix(last, 1);
  const View y = builder.allocate(Storage::F32, last.shape);
  builder.emit_step<SoftmaxStep>({*matrix_view(y, 1), rows}, builder.cpu());
  builder.define_output(operation, transpose_view(y, inverse(perm)));
}

void layer_norm(Builder& builder, const mil::Operation& operation) {
  const View x = builder.floats(operation, "x");
  const auto axes = axes_param(builder, operation, x.rank());
  const auto perm = axes_last(axes, x.rank());
  const View last = transpose_view(x, perm);
  const View rows = builder.matrix(last, static_cast<int64_t>(axes.size()));
  const View y = builder.allocate(Storage::F32, last.shape);
  std::vector<View> views = {*matrix_view(y, static_cast<int64_t>(axes.size())), rows};
  const bool has_gamma = operation.find_input("gamma") != nullptr;
  const bool has_beta = operation.find_input("beta") != nullptr;
  if (has_gamma) views.push_back(builder.contiguous(builder.floats(operation, "gamma")));
  if (has_beta) views.push_back(builder.contiguous(builder.floats(operation, "beta")));
  builder.emit_step<LayerNormStep>(std::move(views), builder.cpu(),
                                   static_cast<float>(float_param(builder, operation, "epsilon")),
                                   has_gamma, has_beta);
  builder.define_output(operation, transpose_view(y, inverse(perm)));
}

}  // namespace

void add_row_rules(Rules& rules) {
  rules["softmax"] = softmax;
  rules["layer_norm"] = layer_norm;
}

}  // namespace pippin::engine
