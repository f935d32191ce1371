#include "pippin/engine/fusion/attention_walk.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "pippin/engine/lowering/rules.h"
#include "pippin/mil/ops/op.h"

namespace pippin::engine {

using mil::Dim;
using mil::Operation;
using mil::Shape;
using mil::Var;

constexpr double kInf = std::numeric_limits<double>::infinity();

namespace {

bool is_sum(const Operation& operation) {
  return operation.type() == "add" || operation.type() == "sub";
}

}  // namespace

bool AttentionWalk::run() {
  while (const Operation* operation = step()) {
    if (operation->type() == "softmax") {
      const auto rank = static_cast<int64_t>(builder_.info(var_).shape.size());
      if (normalize_axis(int_param(builder_, *operation, "axis"), rank) != roles_.summed)
        return false;
      go(*operation, "x");
      return (!cut_ || take_sinks()) && to_scores();
    }
    if (operation->type() == "slice_by_index") {
      if (!cut_last(*operation)) return false;
      continue;
    }
    if (!move(*operation)) return false;
  }
  return false;
}

// The operation that computes the current value, if nothing else reads that value.
const Operation* AttentionWalk::step() const {
  return builder_.read_once(var_) ? direct_producer(var_) : nullptr;
}

void AttentionWalk::go(const Operation& operation, std::string_view parameter) {
  var_ = operation.input_var(parameter);
}

// Steps over operations that change no numbers. Reshapes keep the rows in their order.
bool AttentionWalk::move(const Operation& operation) {
  if (mil::is_float_cast(operation)) {
    go(operation, "x");
    return true;
  }
  if (operation.type() == "transpose") {
    Axes perm = ints_param(builder_, operation, "perm");
    const auto rank = static_cast<int64_t>(perm.size());
    const auto before = [&](int64_t& axis) {
      axis = normalize_axis(perm[static_cast<size_t>(axis)], rank);
    };
    std::for_each(roles_.batch.begin(), roles_.batch.end(), before);
    before(roles_.own);
    before(roles_.summed);
    go(operation, "x");
    return true;
  }
  if (!mil::has_trait(operation, mil::Trait::View)) return false;
  const Var* x = operation.input_var("x");
  const Shape& after = builder_.info(var_).shape;
  if (x == nullptr || roles_.order() != first_axes(static_cast<int64_t>(after.size())))
    return false;
  const Shape& shape = builder_.info(x).shape;
  if (shape.size() < 2 || !(shape.back() == after.back())) return false;
  const auto rank = static_cast<int64_t>(shape.size());
  roles_ = {first_axes(rank - 2), rank - 2, rank - 1};
  reshaped_ = true;
  var_ = x;
  return true;
}

// weights[..., :-1] of a softmax over the keys and one more.
bool AttentionWalk::cut_last(const Operation& slice) {
  const Var* x = slice.input_var("x");
  if (cut_ || x == nullptr) return false;
  const View part = builder_.view(var_), all = builder_.view(x);
  if (part.buffer != all.buffer || !(part.offset == all.offset) || part.strides != all.strides) {
    return false;
  }
  Shape longer = builder_.info(var_).shape;
  Dim& keys = longer[static_cast<size_t>(roles_.summed)];
  keys = keys + 1;
  if (builder_.info(x).shape != longer) return false;
  cut_ = true;
  var_ = x;
  return true;
}

// Scores with one more number at the end of each row.
bool AttentionWalk::take_sinks() {
  const Operation* concat = step();
  if (concat == nullptr || concat->type() != "concat") return false;
  const mil::Argument& values = concat->inputs().at("values");
  const Shape& shape = builder_.info(var_).shape;
  const auto rank = static_cast<int64_t>(shape.size());
  if (values.size() != 2 || roles_.order() != first_axes(4) ||
      normalize_axis(int_param(builder_, *concat, "axis"), rank) != roles_.summed) {
    return false;
  }
  const Var *scores = var_of(values[0]), *sinks = var_of(values[1]);
  if (scores == nullptr || sinks == nullptr) return false;
  const mil::Binding* one_row = &values[1];
  // The same for each row: the repeated value; a repetition known at planning time is already
  // removed.
  if (const Operation* tile = direct_producer(sinks); tile != nullptr && tile->type() == "tile") {
    const mil::Binding& repeated = tile->inputs().at("x").front();
    const Var* x = var_of(repeated);
    if (x != nullptr && builder_.info(x).shape[1] == builder_.info(sinks).shape[1]) {
      one_row = &repeated;
    }
  }
  const View view = builder_.view(*one_row);
  if (!(view.shape[3] == Dim(1)) || !(view.shape[0] == Dim(1)) ||
      !(view.shape[2] == Dim(1) || view.strides[2] == Dim(0))) {
    return false;
  }
  sinks_ = one_row;
  var_ = scores;
  return true;
}

bool AttentionWalk::to_scores() {
  while (const Operation* operation = step()) {
    if (is_product_of_peers(*operation)) return true;
    if (const auto factor = parse_factor(*operation)) {
      scale_ *= factor->factor;
      go(*operation, factor->x);
    } else if (operation->type() == "tanh") {
      if (cap_ > 0 || !(scale_ > 0) || !std::isfinite(scale_)) return false;
      cap_ = scale_;
      scale_ = 1;
      go(*operation, "x");
    } else if (is_sum(*operation) || operation->type() == "select") {
      if (!take_mask(*operation)) return false;
    } else if (!move(*operation)) {
      return false;
    }
  }
  return false;
}

// Anywhere but before a tanh.
bool AttentionWalk::take_mask(const Operation& operation) {
  if (cap_ > 0) return false;
  const bool selects = operation.type() == "select";
  const char* sides[] = {selects ? "a" : "x", selects ? "b" : "y"};
  if (selects) {  // select(allowed, scores, -inf)
    if (constant_number(operation, "b") != -kInf || !(scale_ > 0)) return false;
  }
  MaskTerm term;
  term.shape = builder_.info(var_).shape;
  term.roles = roles_;
  const bool one_side = selects || operation.type() == "sub";  // scores - mask
  for (int i = 0; i < (one_side ? 1 : 2); ++i) {
    const Var* scores = operation.input_var(sides[i]);
    if (scores == nullptr || builder_.info(scores).shape != term.shape ||
        !leads_to_product(scores, 0)) {
      continue;
    }
    term.mask = &operation.find_input(selects ? "cond" : sides[1 - i])->front();
    term.is_allowed = selects;
    term.factor = selects ? 1 : operation.type() == "sub" ? -scale_ : scale_;
    masks_.push_back(std::move(term));
    var_ = scores;
    return true;
  }
  return false;
}

// Looks ahead, to distinguish scores from a mask of the same shape.
bool AttentionWalk::leads_to_product(const Var* var, int steps) const {
  constexpr int kFarEnough = 16;
  for (; steps < kFarEnough; ++steps) {
    const Operation* operation = builder_.read_once(var) ? direct_producer(var) : nullptr;
    if (operation == nullptr) return false;
    if (is_product_of_peers(*operation)) return true;
    if (is_sum(*operation) || operation->type() == "select") {  // another mask
      const bool selects = operation->type() == "select";
      for (const char* side : {selects ? "a" : "x", selects ? "b" : "y"}) {
        const Var* input = operation->input_var(side);
        if (input != nullptr && builder_.info(input).shape == builder_.info(var).shape &&
            leads_to_product(input, steps + 1)) {
          return true;
        }
      }
      return false;
    }
    const auto factor = parse_factor(*operation);
    if (!factor && operation->type() != "tanh" && !mil::keeps_elements(*operation)) return false;
    var = operation->input_var(factor ? factor->x : "x");
  }
  return false;
}

}  // namespace pippin::engine
