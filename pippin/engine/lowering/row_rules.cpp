// Operations along axes: softmax, reductions, layer_norm.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/rules.h"
#include "pippin/engine/steps/row_loop.h"

namespace pippin::engine {
namespace {

using kernels::ReduceOp;
using kernels::RowsArgs;
using kernels::RowsKernels;
using mil::Dim;
using mil::Shape;

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

class ReduceStep : public Step {
 public:
  ReduceStep(const CpuFeatures& cpu, std::string name, ReduceOp op)
      : kernels_(kernels::choose_rows(cpu)), name_(std::move(name)), op_(op) {}
  std::string name() const override { return name_; }
  void run(const StepContext& context) const noexcept override {
    run_row_shares(context, [&](const RowsArgs& args) { kernels_.reduce(op_, args); });
  }

 private:
  const RowsKernels& kernels_;
  std::string name_;
  ReduceOp op_;
};

// Where the largest (or smallest) element of each row is, the first of equals: the extreme is found
// by the kernel for it, and then looked for.
class ArgStep : public Step {
 public:
  ArgStep(const CpuFeatures& cpu, std::string name, ReduceOp op)
      : kernels_(kernels::choose_rows(cpu)), name_(std::move(name)), op_(op) {}
  std::string name() const override { return name_; }
  void run(const StepContext& context) const noexcept override {
    run_row_shares(context, [&](const RowsArgs& args) {
      auto* indices = reinterpret_cast<int32_t*>(args.y);  // y has integers
      for (int64_t i = 0; i < args.m; ++i) {
        indices[i * args.y_stride] = index_in(args.x + i * args.x_stride, args.n);
      }
    });
  }

 private:
  int32_t index_in(const float* x, int64_t n) const {
    float extreme = 0;
    kernels_.reduce(op_, {x, n, &extreme, 1, 1, n});
    if (!std::isnan(extreme)) return static_cast<int32_t>(std::find(x, x + n, extreme) - x);
    // Nothing is larger than a NaN at the front; others are passed over.
    int64_t best = 0;
    for (int64_t i = 1; i < n; ++i) {
      if (op_ == ReduceOp::Max ? x[i] > x[best] : x[i] < x[best]) best = i;
    }
    return static_cast<int32_t>(best);
  }

  const RowsKernels& kernels_;
  std::string name_;
  ReduceOp op_;
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

// The axes of a parameter (absent: all), counted from the front.
std::set<int64_t> axes_param(const Builder& builder, const mil::Operation& operation,
                             int64_t rank) {
  std::set<int64_t> axes;
  if (operation.find_input("axes") == nullptr) {
    for (int64_t i = 0; i < rank; ++i) axes.insert(i);
    return axes;
  }
  const mil::Value* value = operation.constant_input("axes");
  if (value == nullptr) {
    fail(ErrorCode::Unsupported, "{}: 'axes' must be constant", builder.where(operation));
  }
  for (const int64_t axis : value->to_ints()) axes.insert(normalize_axis(axis, rank));
  return axes;
}

// The permutation that moves `axes` to the end.
std::vector<int64_t> axes_last(const std::set<int64_t>& axes, int64_t rank) {
  std::vector<int64_t> perm;
  for (int64_t i = 0; i < rank; ++i) {
    if (!axes.contains(i)) perm.push_back(i);
  }
  perm.insert(perm.end(), axes.begin(), axes.end());
  return perm;
}

std::vector<int64_t> inverse(const std::vector<int64_t>& perm) {
  std::vector<int64_t> result(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    result[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return result;
}

// [m] as [m, 1], so that every result has a row stride.
View column(const View& view) {
  View result = view;
  result.shape = {mil::num_elements(view.shape), Dim(1)};
  result.strides = {Dim(1), Dim(1)};
  return result;
}

void softmax(Builder& builder, const mil::Operation& operation) {
  const View x = builder.floats(operation, "x");
  const int64_t axis = normalize_axis(int_param(builder, operation, "axis"), x.rank());
  const auto perm = axes_last({axis}, x.rank());
  const View last = transpose_view(x, perm);
  const View rows = builder.matrix(last, 1);
  const View y = builder.allocate(Storage::F32, last.shape);
  builder.emit<SoftmaxStep>({*matrix_view(y, 1), rows}, builder.cpu());
  builder.define_output(operation, transpose_view(y, inverse(perm)));
}

template <ReduceOp op>
void reduce(Builder& builder, const mil::Operation& operation) {
  const mil::ValueInfo& output = builder.info(operation.output());
  const View x = builder.floats(operation, "x");
  const auto axes = axes_param(builder, operation, x.rank());
  const View rows = builder.matrix(transpose_view(x, axes_last(axes, x.rank())),
                                   static_cast<int64_t>(axes.size()));
  const View y = builder.allocate(Storage::F32, output.shape);
  builder.emit<ReduceStep>({column(y), rows}, builder.cpu(), operation.type(), op);
  builder.define_output(operation, builder.view_as(y, run_storage(output.type)));
}

template <ReduceOp op>
void arg_reduce(Builder& builder, const mil::Operation& operation) {
  const mil::ValueInfo& output = builder.info(operation.output());
  const View given = builder.view(operation, "x");
  const int64_t axis = normalize_axis(int_param(builder, operation, "axis"), given.rank());
  const Dim length = given.shape[static_cast<size_t>(axis)];
  // Large integers are no floats, and an empty axis is an error.
  if (!is_float(given.storage) || !length.is_constant() || length.constant() < 1) {
    fail(ErrorCode::Unsupported, "{}: no kernel for its input", builder.where(operation));
  }
  const View x = builder.view_as(given, Storage::F32);
  const View rows = builder.matrix(transpose_view(x, axes_last({axis}, x.rank())), 1);
  const View y = builder.allocate(Storage::I32, output.shape);
  builder.emit<ArgStep>({column(y), rows}, builder.cpu(), operation.type(), op);
  builder.define_output(operation, y);
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
  builder.emit<LayerNormStep>(std::move(views), builder.cpu(),
                              static_cast<float>(float_param(builder, operation, "epsilon")),
                              has_gamma, has_beta);
  builder.define_output(operation, transpose_view(y, inverse(perm)));
}

}  // namespace

void add_row_rules(Rules& rules) {
  rules["softmax"] = softmax;
  rules["reduce_sum"] = reduce<ReduceOp::Sum>;
  rules["reduce_mean"] = reduce<ReduceOp::Mean>;
  rules["reduce_max"] = reduce<ReduceOp::Max>;
  rules["reduce_min"] = reduce<ReduceOp::Min>;
  rules["reduce_sum_square"] = reduce<ReduceOp::SumOfSquares>;
  rules["reduce_log_sum_exp"] = reduce<ReduceOp::LogSumExp>;
  rules["reduce_argmax"] = arg_reduce<ReduceOp::Max>;
  rules["reduce_argmin"] = arg_reduce<ReduceOp::Min>;
  rules["layer_norm"] = layer_norm;
}

}  // namespace pippin::engine
