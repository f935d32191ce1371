// A short convolution over a sequence (nn/layers/causal_convolution.h): over the columns of a
// state and those of the new tokens, the last of which become the state.
#include <algorithm>

#include "pippin/engine/fusion/carried_state.h"
#include "pippin/engine/fusion/fusion.h"
#include "pippin/engine/fusion/match.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Operation;
using mil::Var;

constexpr int64_t kMaxTaps = 16;

bool is_causal(Builder& builder, const Operation& convolution, const Dim& taps,
               const Dim& features) {
  if (convolution.type() != "conv") return false;
  const auto ones = [&](std::string_view name) {
    const auto values = ints_param(builder, convolution, name, {1});
    return std::all_of(values.begin(), values.end(), [](int64_t n) { return n == 1; });
  };
  return builder.shape(convolution, "weight") == mil::Shape{features, Dim(1), taps} &&
         Dim(int_param(builder, convolution, "groups")) == features && ones("strides") &&
         ones("dilations") && string_param(builder, convolution, "pad_type") == "valid";
}

// The convolution of the rows, [1, tokens, features] as [1, features, tokens], among the operations
// lowered so far: each feature separately.
const Operation* find_convolution(Builder& builder, const Var* rows, const Dim& taps) {
  const Dim features = builder.info(rows).shape[2];
  for (const Operation* turned : builder.users(rows)) {
    if (turned->type() != "transpose" || !builder.is_lowered(turned->output())) continue;
    const View columns = transpose_view(builder.view(rows), {0, 2, 1});
    if (!same_elements(builder.view(turned->output()), columns)) continue;
    for (const Operation* user : builder.users(turned->output())) {
      if (builder.is_lowered(user->output()) && is_causal(builder, *user, taps, features)) {
        return user;
      }
    }
  }
  return nullptr;
}

View rows_of(Builder& builder, const View& view) {
  return builder.contiguous(builder.view_as(view, Storage::F32));
}

// Removes an axis of one element.
View without_axis(View view, int64_t axis) {
  view.shape.erase(view.shape.begin() + axis);
  view.strides.erase(view.strides.begin() + axis);
  return view;
}

}  // namespace

bool fuse_causal_convolution(Builder& builder, const Operation& root) {
  const Var* update = uncast(root.input_var("update"));
  const Operation* last = producer(update, "slice_by_index");
  const Operation* join = last != nullptr ? producer(last->input_var("x"), "concat") : nullptr;
  if (join == nullptr || builder.info(update).shape.size() != 3 ||
      normalize_axis(int_param(builder, *join, "axis"), 3) != 1) {
    return false;
  }
  const mil::Argument& values = join->inputs().at("values");
  if (values.size() != 2) return false;
  const auto* before = std::get_if<Var*>(&values[0]);
  const auto* latest = std::get_if<Var*>(&values[1]);
  if (before == nullptr || latest == nullptr) return false;
  const mil::Shape& kept = builder.info(*before).shape;
  const mil::Shape& fresh = builder.info(*latest).shape;
  if (!(kept[0] == Dim(1)) || !kept[1].is_constant() || kept[1].constant() < 1 ||
      kept[1].constant() >= kMaxTaps || kept != builder.info(update).shape) {
    return false;
  }
  // As many of the last rows as are kept.
  View expected = builder.view(join->output());
  expected.offset = expected.offset + fresh[1] * expected.strides[1];
  expected.shape[1] = kept[1];
  if (!same_elements(expected, builder.view(update))) return false;
  const Operation* convolution = find_convolution(builder, join->output(), kept[1] + 1);
  if (convolution == nullptr) return false;
  const auto place = replace_carried(builder, root, *before);
  if (!place) return false;
  View state = without_axis(*place, 0);
  const View weight = without_axis(builder.view(*convolution, "weight"), 1);
  const View y = builder.allocate(Storage::F32, {fresh[1], kept[2]});
  std::vector<View> views = {y, state, rows_of(builder, without_axis(builder.view(*latest), 0)),
                             rows_of(builder, transpose_view(weight, {1, 0}))};
  if (convolution->find_input("bias") != nullptr) {
    views.push_back(rows_of(builder, builder.view(*convolution, "bias")));
  }
  builder.emit(CausalConvolutionNode{}, std::move(views), 2);
  builder.define_output(*convolution,
                        *reshape_view(transpose_view(y, {1, 0}), {Dim(1), kept[2], fresh[1]}));
  return true;
}

bool fuse_convolution_silu(Builder& builder, const Operation& root) {
  const Var* x = uncast(root.input_var("x"));
  const Operation* turned = producer(x, "transpose");
  if (turned == nullptr || !builder.is_lowered(x) || !builder.read_once(root.input_var("x")) ||
      !builder.read_once(x) || !builder.read_once(turned->input_var("x"))) {
    return false;
  }
  const View shown = builder.view(x);
  for (Node& node : builder.nodes()) {
    auto* convolution = node.as<CausalConvolutionNode>();
    if (convolution == nullptr || node.views[0].buffer != shown.buffer) continue;
    if (convolution->has_silu) return false;
    convolution->has_silu = true;
    builder.define_output(root, shown);
    return true;
  }
  return false;
}

}  // namespace pippin::engine
