// A recurrence and the update of its state as one step over consecutive tokens: sequential order
// needs the least work of all that the loop-free program describes, and the state is read and
// written once.
#include "pippin/engine/fusion/carried_state.h"
#include "pippin/engine/fusion/fusion.h"
#include "pippin/engine/fusion/match.h"
#include "pippin/engine/fusion/recurrence_match.h"
#include "pippin/engine/fusion/recurrence_parts.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Operation;
using mil::Shape;
using mil::Var;

// A value in another shape, in fp32, with unit stride along the last axis.
View rows_as(Builder& builder, const Var* var, const Shape& shape) {
  const View view = builder.view_as(builder.view(var), Storage::F32);
  auto reshaped = reshape_view(view, shape);
  if (!reshaped) reshaped = reshape_view(builder.contiguous(view), shape);
  if (shape.back() == Dim(1) || reshaped->strides.back() == Dim(1)) return *reshaped;
  return builder.contiguous(*reshaped);
}

// One number for each token, [groups, heads, tokens, 1], as [groups, heads, tokens].
View token_numbers(Builder& builder, const Var* var) {
  View view = builder.view_as(builder.view(var), Storage::F32);
  view.shape.pop_back();
  view.strides.pop_back();
  return view;
}

// x before the multiplication by a number for each token, and these numbers.
struct Scaled {
  View x, scales;
};
std::optional<Scaled> scaled_by_token(Builder& builder, const Var* x) {
  std::vector<int64_t> order = {0, 1, 2, 3};
  const Operation* product = producer(x);
  if (product != nullptr && product->type() == "transpose") {
    order = ints_param(builder, *product, "perm");
    product = producer(product->input_var("x"));
  }
  if (product == nullptr || product->type() != "mul" || order.size() != 4) return std::nullopt;
  mil::Shape numbers = builder.info(x).shape;
  numbers[3] = 1;
  std::optional<Scaled> found;
  either_order(product, [&](const Var* values, const Var* scales) {
    const auto in_order = [&](const Var* var) {
      return transpose_view(builder.view_as(builder.view(var), Storage::F32), order);
    };
    if (builder.info(scales).shape.size() != 4 || builder.info(values).shape.size() != 4 ||
        !builder.is_lowered(scales) || !builder.is_lowered(values)) {
      return false;
    }
    Scaled scaled = {in_order(values), in_order(scales)};
    if (scaled.scales.shape != numbers || scaled.x.shape != builder.info(x).shape ||
        !(scaled.x.strides[3] == Dim(1))) {
      return false;
    }
    scaled.scales.shape.pop_back();
    scaled.scales.strides.pop_back();
    found = std::move(scaled);
    return true;
  });
  return found;
}

bool fuse_decayed(Builder& builder, const Operation& root, const DecayedMatch& match) {
  const auto delta = match_delta(builder, match);
  const auto place = replace_carried(builder, root, match.state);
  if (!place) return false;
  const Shape& x = builder.info(match.x).shape;
  const Shape& state = builder.info(match.state).shape;
  const Shape shared = {state[0], x[2], state[3]};
  std::vector<View> views = {{},  // results
                             *place,
                             builder.view_as(builder.view(match.log_decay), Storage::F32),
                             {},
                             rows_as(builder, match.keys, shared),
                             rows_as(builder, match.queries, shared)};
  DecayedNode node;
  if (delta) {
    views[DecayedNode::kX] = rows_as(builder, delta->values, x);
    views.push_back(token_numbers(builder, delta->rates));
    node.has_rates = true;
  } else if (auto scaled = scaled_by_token(builder, match.x)) {
    views[DecayedNode::kX] = std::move(scaled->x);
    views.push_back(std::move(scaled->scales));
    node.has_scales = true;
  } else {
    views[DecayedNode::kX] = rows_as(builder, match.x, x);
  }
  // Tokens are consecutive in memory.
  const View by_token = builder.allocate(Storage::F32, {x[2], x[0], x[1], x[3]});
  const View results = views[0] = transpose_view(by_token, {1, 2, 0, 3});
  builder.emit(node, std::move(views), 2);
  builder.define_output(*match.results, results);
  return true;
}

bool fuse_selective(Builder& builder, const Operation& root, const LinearMatch& linear,
                    const SelectiveMatch& match) {
  const auto place = replace_carried(builder, root, linear.state);
  if (!place) return false;
  const Shape& shape = builder.info(linear.x).shape;
  const Shape by_feature = {shape[1], shape[2]}, by_number = {shape[1], shape[3]},
              state = {shape[2], shape[3]};
  std::vector<View> views = {
      {},  // results
      *reshape_view(*place, state),
      rows_as(builder, match.steps, by_feature),
      rows_as(builder, match.inputs, by_feature),
      rows_as(builder, match.rates, state),
      rows_as(builder, match.keys, by_number),
      rows_as(builder, match.queries, by_number),
  };
  const View results = views[0] = builder.allocate(Storage::F32, by_feature);
  builder.emit(SelectiveNode{}, std::move(views), 2);
  builder.define_output(*match.results,
                        *reshape_view(results, builder.info(match.results->output()).shape));
  return true;
}

bool fuse_linear(Builder& builder, const Operation& root, const LinearMatch& match) {
  const auto place = replace_carried(builder, root, match.state);
  if (!place) return false;
  const Shape& shape = builder.info(match.x).shape;
  const Dim size = mil::num_elements(Shape(shape.begin() + 2, shape.end()));
  const Shape rows = {shape[1], size};
  const View decay = rows_as(builder, match.decay, rows), x = rows_as(builder, match.x, rows);
  const View results = builder.allocate(Storage::F32, rows);
  builder.emit(LinearRecurrenceNode{}, {results, *reshape_view(*place, {size}), decay, x}, 2);
  builder.define_output(*match.results, *reshape_view(results, shape));
  return true;
}

// Makes the node that computes `results`, [groups, heads, tokens, p], add skip * x to them. Returns
// false if there is no such node, x is not its own, or skip, [groups, heads], is not constant.
bool add_skip(Builder& builder, const View& results, const View& x, const View& skip) {
  if (!builder.is_constant(skip)) return false;
  for (Node& node : builder.nodes()) {
    auto* decayed = node.as<DecayedNode>();
    if (decayed == nullptr || node.views[0].buffer != results.buffer) continue;
    if (decayed->has_skip || !same_elements(results, node.views[0]) ||
        !same_elements(x, node.views[DecayedNode::kX])) {
      return false;
    }
    decayed->has_skip = true;
    node.views.push_back(skip);
    return true;
  }
  return false;
}

// The value before a transpose, if nothing else reads the values in between.
const Var* untransposed(const Builder& builder, const Var* var) {
  const Var* x = argument_of(var, "transpose");
  return x != nullptr && builder.read_once(var) && builder.read_once(x) ? x : nullptr;
}

}  // namespace

bool fuse_skip(Builder& builder, const Operation& sum) {
  const Shape& shape = builder.info(sum.output()).shape;
  if (shape.size() != 4) return false;
  return either_order(&sum, [&](const Var* results, const Var* skipped) {
    const Var* made = untransposed(builder, results);
    if (made == nullptr || !builder.is_lowered(made)) return false;
    return either_order(producer(skipped, "mul"), [&](const Var* x, const Var* skip) {
      if (builder.info(x).shape != shape || !builder.is_lowered(x)) return false;
      const View shown = builder.view(results);
      const std::vector<int64_t> order = {1, 2, 0, 3};
      const Shape by_head = {shape[1], shape[2], 1};
      if (builder.info(skip).shape != by_head) return false;
      const View factors =
          *reshape_view(builder.view_as(builder.view(skip), Storage::F32), {shape[1], shape[2]});
      const View values = builder.view_as(builder.view(x), Storage::F32);
      if (!add_skip(builder, transpose_view(shown, order), transpose_view(values, order), factors))
        return false;
      builder.define_output(sum, shown);
      return true;
    });
  });
}

bool fuse_recurrence(Builder& builder, const Operation& root) {
  const Var* update = root.input_var("update");
  if (update == nullptr) return false;
  if (const auto decayed = match_decayed(builder, update)) {
    return fuse_decayed(builder, root, *decayed);
  }
  const auto linear = match_linear(builder, update);
  if (!linear) return false;
  if (const auto selective = match_selective(builder, *linear)) {
    return fuse_selective(builder, root, *linear, *selective);
  }
  return fuse_linear(builder, root, *linear);
}

}  // namespace pippin::engine
