// Operations along axes that keep their shape: softmax and norms.
#include <algorithm>
#include <cmath>

#include "pippin/engine/lowering/axes.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

void softmax(Builder& builder, const mil::Operation& operation) {
  const View x = builder.floats(operation, "x");
  const int64_t axis = normalize_axis(int_param(builder, operation, "axis"), x.rank());
  const auto perm = axes_last({axis}, x.rank());
  const View last = transpose_view(x, perm);
  const View rows = builder.matrix(last, 1);
  const View y = builder.allocate(Storage::F32, last.shape);
  builder.emit(SoftmaxNode{}, {*matrix_view(y, 1), rows});
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
  const auto epsilon = static_cast<float>(float_param(builder, operation, "epsilon"));
  builder.emit(LayerNormNode{epsilon, has_gamma, has_beta}, std::move(views));
  builder.define_output(operation, transpose_view(y, inverse(perm)));
}

}  // namespace

void add_row_rules(Rules& rules) {
  rules["softmax"] = softmax;
  rules["layer_norm"] = layer_norm;
}

}  // namespace pippin::engine
