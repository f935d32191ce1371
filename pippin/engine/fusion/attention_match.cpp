#include "pippin/engine/fusion/attention_match.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/engine/fusion/attention_walk.h"
#include "pippin/engine/lowering/elementwise_step.h"
#include "pippin/engine/lowering/rules.h"
#include "pippin/mil/ops/op.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Operation;
using mil::Shape;
using mil::Var;

View in_order(const View& view, const Roles& roles) {
  return transpose_view(view, roles.order());
}

Shape lead_of(const Shape& shape, const Axes& batch, int64_t rows) {
  Shape lead;
  for (const int64_t axis : batch) lead.push_back(shape[static_cast<size_t>(axis)]);
  lead.push_back(shape[static_cast<size_t>(rows)]);
  return lead;
}

// [batch, heads, rows] of any number of leading dimensions.
Shape three_of(const Shape& lead) {
  const size_t rank = lead.size();
  if (rank == 1) return {Dim(1), Dim(1), lead[0]};
  return {mil::num_elements(Shape(lead.begin(), lead.end() - 2)), lead[rank - 2], lead[rank - 1]};
}

struct Match {
  AttentionViews views;  // q may need a copy before it gets its shape; no mask yet
  Shape q_shape;         // [batch, heads, rows, head_dim]
  // The masks as stored, with the shapes in which they are added, and their common shape: [batch,
  // heads, rows, keys].
  struct Mask {
    View view;
    MaskTerm term;
  };
  std::vector<Mask> masks;
  Shape mask_shape;
  // The last product: its axes by role, and their dimensions.
  Axes batch;
  int64_t row_axis = 0, value_axis = 0;
};

// [batch, kv_heads, keys, columns] of k or v as an operand: `roles` tells the batch axes, keys and
// columns; `lead` is [batch, heads, rows] of the scores.
std::optional<View> cache_view(Builder& builder, const mil::Binding& operand, const Roles& roles,
                               bool keys_are_summed, const Shape& lead, bool grouped) {
  Axes order = roles.batch;
  order.push_back(keys_are_summed ? roles.summed : roles.own);
  order.push_back(keys_are_summed ? roles.own : roles.summed);
  std::optional<View> source;
  if (grouped && roles.batch == Axes{0, 1}) source = ungrouped(builder, var_of(operand));
  const View view = transpose_view(source ? *source : builder.view(operand), order);
  const size_t rank = view.shape.size();
  Dim heads = 1;
  if (rank >= 3) heads = view.shape[rank - 3];
  if (rank != 4) {  // all batch axes as one, which the batch divides
    const Shape batch_shape(view.shape.begin(), view.shape.end() - 2);
    heads = floor_div(mil::num_elements(batch_shape), lead[0]);
    if (!(heads * lead[0] == mil::num_elements(batch_shape))) return std::nullopt;
  }
  const Shape shape = {lead[0], heads, view.shape[rank - 2], view.shape[rank - 1]};
  if (rank == 4) {
    if (!(view.shape[0] == lead[0]) && !(view.shape[0] == Dim(1))) return std::nullopt;
    return broadcast_view(view, shape);
  }
  return reshape_view(view, shape);
}

// Whether rows [batch..., rows] of a product are those of [batch, heads, rows], with each head of k
// or v shared by the same number of heads.
bool same_rows(const Shape& product_lead, const Shape& lead, const Dim& kv_heads) {
  const Dim all = mil::num_elements(Shape(product_lead.begin(), product_lead.end() - 1));
  const Dim heads = floor_div(all, lead[0]);  // of the product: heads, or groups of them
  if (!(heads * lead[0] == all) || !(all * product_lead.back() == lead[0] * lead[1] * lead[2]))
    return false;
  if (!heads.is_constant() || !lead[1].is_constant() || !kv_heads.is_constant() ||
      heads.constant() < 1 || kv_heads.constant() < 1) {
    return false;
  }
  return lead[1].constant() % heads.constant() == 0 && heads.constant() % kv_heads.constant() == 0;
}

std::optional<Match> match_with(Builder& builder, const Operation& operation,
                                const MatrixProduct& last, int weights, bool grouped) {
  AttentionWalk walk(builder, var_of(*last.operands[weights]), last.roles[weights]);
  if (walk.scores() == nullptr || !walk.run()) return std::nullopt;
  const Operation* first_operation = walk.scores()->producer;
  const auto first = parse_product(builder, first_operation);
  if (!first) return std::nullopt;
  const int keys = first->own[0] == walk.roles().summed ? 0 : 1;
  if (first->own[keys] != walk.roles().summed || first->own[1 - keys] != walk.roles().own)
    return std::nullopt;
  // The batch axes of the first product in the order of the last one.
  Roles q_roles = first->roles[1 - keys], k_roles = first->roles[keys];
  Axes q_batch, k_batch;
  for (const int64_t axis : walk.roles().batch) {
    const auto found = std::find(first->batch.begin(), first->batch.end(), axis);
    if (found == first->batch.end()) return std::nullopt;
    const auto index = static_cast<size_t>(found - first->batch.begin());
    q_batch.push_back(q_roles.batch[index]);
    k_batch.push_back(k_roles.batch[index]);
  }
  q_roles.batch = q_batch;
  k_roles.batch = k_batch;

  const Shape& scores_shape = builder.info(walk.scores()).shape;
  const Shape first_lead = lead_of(scores_shape, walk.roles().batch, walk.roles().own);
  const Shape& out_shape = builder.info(operation.output()).shape;
  const Shape last_lead = lead_of(out_shape, last.batch, last.own[weights]);
  const auto lead_of_term = [](const MaskTerm& term) {
    return three_of(lead_of(term.shape, term.roles.batch, term.roles.own));
  };
  const auto& terms = walk.masks();
  const Shape lead =
      terms.empty() || !walk.reshaped() ? three_of(first_lead) : lead_of_term(terms.front());
  for (const MaskTerm& term : terms) {
    if (walk.reshaped() && lead_of_term(term) != lead) return std::nullopt;
  }

  Match match;
  const int values = 1 - weights;
  const auto k = cache_view(builder, *first->operands[keys], k_roles, false, lead, grouped);
  const auto v =
      cache_view(builder, *last.operands[values], last.roles[values], true, lead, grouped);
  if (!k || !v || !is_float(k->storage) || !is_float(v->storage)) return std::nullopt;
  if (!(k->shape[1] == v->shape[1]) || !same_rows(first_lead, lead, k->shape[1]) ||
      !same_rows(last_lead, lead, k->shape[1])) {
    return std::nullopt;
  }
  match.views.k = *k;
  match.views.v = *v;

  Scaled q{first->operands[1 - keys], 1};
  if (const Var* var = var_of(*q.value); direct_producer(var) != nullptr) {
    if (const auto factor = parse_factor(*var->producer)) {
      const mil::Binding& x = var->producer->find_input(factor->x)->front();
      // The factor must not have broadcast it.
      const Var* inner = var_of(x);
      if (inner != nullptr && builder.info(inner).shape == builder.info(var).shape) {
        q = {&x, factor->factor};
      }
    }
  }
  View q_view = in_order(builder.view(*q.value), q_roles);
  if (!is_float(q_view.storage)) return std::nullopt;
  Shape q_wide = first_lead;
  q_wide.push_back(q_view.shape.back());
  match.views.q = broadcast_view(q_view, q_wide);
  match.q_shape = {lead[0], lead[1], lead[2], q_view.shape.back()};
  match.views.scale = walk.scale() * q.scale;
  match.views.softcap = walk.softcap();

  for (const MaskTerm& term : terms) {
    const View mask = builder.view(*term.mask);
    if (mask.rank() > static_cast<int64_t>(term.shape.size())) return std::nullopt;
    if (!term.is_allowed && !is_float(mask.storage)) return std::nullopt;
    match.masks.push_back({mask, term});
  }
  match.mask_shape = {lead[0], lead[1], lead[2], k->shape[2]};
  if (walk.sinks() != nullptr) {
    View sinks = builder.view(*walk.sinks());
    if (!is_float(sinks.storage) || !(lead[0] == Dim(1)) || !(lead[1] == sinks.shape[1])) {
      return std::nullopt;
    }
    sinks.shape = {sinks.shape[1]};
    sinks.strides = {sinks.strides[1]};
    match.views.sinks = sinks;
  }
  match.batch = last.batch;
  match.row_axis = last.own[weights];
  match.value_axis = last.own[values];
  return match;
}

std::optional<Match> match_attention(Builder& builder, const Operation& operation) {
  const auto last = parse_product(builder, &operation);
  if (!last) return std::nullopt;
  for (const int weights : {0, 1}) {
    if (var_of(*last->operands[weights]) == nullptr) continue;
    for (const bool grouped : {true, false}) {
      if (auto match = match_with(builder, operation, *last, weights, grouped)) return match;
    }
  }
  return std::nullopt;
}

// In the shape that the step takes: a view if possible.
View shaped(Builder& builder, const View& view, const Shape& shape) {
  if (auto reshaped = reshape_view(view, shape)) return *reshaped;
  return *reshape_view(builder.contiguous(view), shape);
}

View wide_mask(const MaskTerm& term, const View& mask) {
  return in_order(broadcast_view(mask, term.shape), term.roles);
}

// Adds equal parts of both only once.
View sum_of_masks(Builder& builder, View a, View b) {
  const Shape shape = a.shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (a.strides[i] == Dim(0) && b.strides[i] == Dim(0)) a.shape[i] = b.shape[i] = 1;
  }
  return broadcast_view(sum_step(builder, "mask + mask", a, b), shape);
}

// One mask for all terms: each as it is added, times its factor.
View added_masks(Builder& builder, const Match& match) {
  std::optional<View> total;
  for (const Match::Mask& mask : match.masks) {
    View added = mask.term.is_allowed ? additive_mask(builder, mask.view)
                                      : builder.view_as(mask.view, Storage::F32);
    if (mask.term.factor != 1) {
      added = unary_step(builder, "mask * constant", kernels::UnaryOp::Linear, added,
                         static_cast<float>(mask.term.factor), 0);
    }
    added = shaped(builder, wide_mask(mask.term, added), match.mask_shape);
    total = total ? sum_of_masks(builder, *total, added) : added;
  }
  return *total;
}

AttentionViews prepared(Builder& builder, const Match& match) {
  AttentionViews views = match.views;
  if (views.k.storage != views.v.storage || views.k.storage == Storage::BF16) {
    views.k = builder.view_as(views.k, Storage::F32);
    views.v = builder.view_as(views.v, Storage::F32);
  }
  views.q = shaped(builder, builder.view_as(views.q, Storage::F32), match.q_shape);
  if (!match.masks.empty()) views.mask = added_masks(builder, match);
  return views;
}

// Moves the axes of a result: `sources[i]` is the view's axis that becomes axis i.
View placed(const View& view, const Axes& places) {
  Axes perm(places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    perm[static_cast<size_t>(places[i])] = static_cast<int64_t>(i);
  }
  return transpose_view(view, perm);
}

bool fuse_product(Builder& builder, const Operation& operation) {
  const auto match = match_attention(builder, operation);
  if (!match) return false;
  const View out = emit_attention(builder, prepared(builder, *match));
  Axes places = match->batch;
  places.push_back(match->row_axis);
  places.push_back(match->value_axis);
  const Shape& shape = builder.info(operation.output()).shape;
  Shape by_role;
  for (const int64_t axis : places) by_role.push_back(shape[static_cast<size_t>(axis)]);
  builder.define_output(operation, placed(shaped(builder, out, by_role), places));
  return true;
}

bool same_place(const View& a, const View& b) {
  return a.buffer == b.buffer && a.storage == b.storage && a.shape == b.shape &&
         a.strides == b.strides;
}

// Spacing of heads: view i lies `step` after the previous one, or `step` after every `group` of
// them.
struct Spacing {
  Dim step;
  size_t group;
};
std::optional<Spacing> spacing(const std::vector<View>& views) {
  size_t group = 1;
  while (group < views.size() && views[group].offset == views[0].offset) ++group;
  Spacing spacing{0, group};
  if (group < views.size()) spacing.step = views[group].offset - views[0].offset;
  for (size_t i = 0; i < views.size(); ++i) {
    const Dim expected = views[0].offset + spacing.step * Dim(static_cast<int64_t>(i / group));
    if (!same_place(views[i], views[0]) || !(views[i].offset == expected)) return std::nullopt;
  }
  return spacing;
}

// A concat of separate attentions of the heads: one attention of all.
bool fuse_heads(Builder& builder, const Operation& operation) {
  const mil::Argument& values = operation.inputs().at("values");
  if (values.size() < 2) return false;
  std::vector<View> q, k, v, masks;
  std::optional<Match> first;
  for (const mil::Binding& value : values) {
    const Var* var = var_of(value);
    if (direct_producer(var) == nullptr) return false;
    auto match = match_attention(builder, *var->producer);
    if (!match || match->views.sinks) return false;
    // One head each, nothing to copy.
    const Dim one(1);
    const auto own_q = reshape_view(match->views.q, match->q_shape);
    if (!own_q || !(own_q->shape[0] == one) || !(own_q->shape[1] == one)) return false;
    q.push_back(*own_q);
    k.push_back(match->views.k);
    v.push_back(match->views.v);
    if (match->masks.size() > 1) return false;
    if (!match->masks.empty()) masks.push_back(match->masks[0].view);
    if (!first) first = match;
    const Match& other = *first;
    if (match->masks.size() != other.masks.size()) return false;
    if (!match->masks.empty() &&
        (match->masks[0].term.is_allowed != other.masks[0].term.is_allowed ||
         match->masks[0].term.factor != 1)) {
      return false;
    }
    if (match->views.scale != other.views.scale || match->views.softcap != other.views.softcap ||
        match->batch != other.batch || match->row_axis != other.row_axis ||
        match->value_axis != other.value_axis) {
      return false;
    }
  }
  const Shape& shape = builder.info(operation.output()).shape;
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = normalize_axis(int_param(builder, operation, "axis"), rank);
  if (axis == first->row_axis || (operation.find_input("interleave") != nullptr &&
                                  bool_param(builder, operation, "interleave"))) {
    return false;
  }
  const auto heads = static_cast<int64_t>(values.size());
  const auto q_space = spacing(q), k_space = spacing(k), v_space = spacing(v);
  if (!q_space || !k_space || !v_space || q_space->group != 1 || k_space->group != v_space->group ||
      values.size() % k_space->group != 0) {
    return false;
  }
  const auto all = [](View view, int64_t count, const Dim& step) {
    view.shape[1] = count;
    view.strides[1] = step;
    return view;
  };
  Match match = *first;
  match.views.q = all(q[0], heads, q_space->step);
  match.q_shape[1] = heads;
  const int64_t kv_heads = heads / static_cast<int64_t>(k_space->group);
  match.views.k = all(k[0], kv_heads, k_space->step);
  match.views.v = all(v[0], kv_heads, v_space->step);
  AttentionViews views;
  if (!masks.empty()) {
    const auto space = spacing(masks);
    const bool shared = space && space->group == masks.size();
    // The heads' masks are adjacent, or all heads share one.
    if (!space || (!shared && (space->group != 1 || masks[0].storage != Storage::F32)))
      return false;
    const auto own = reshape_view(wide_mask(match.masks[0].term, masks[0]), match.mask_shape);
    if (!own) return false;
    views = prepared(builder, match);
    views.mask = all(shared ? *views.mask : *own, heads, space->step);
  } else {
    views = prepared(builder, match);
  }
  const View out = emit_attention(builder, views);  // [1, heads, rows, values]
  View result = out;
  result.shape = shape;
  result.strides.assign(shape.size(), Dim(0));
  result.strides[static_cast<size_t>(match.row_axis)] = out.strides[2];
  if (axis != match.value_axis) result.strides[static_cast<size_t>(axis)] = out.strides[1];
  result.strides[static_cast<size_t>(match.value_axis)] = out.strides[3];
  builder.define_output(operation, result);
  return true;
}

}  // namespace

Scaled unscaled(const Operation& operation, std::string_view parameter) {
  const mil::Binding& value = operation.find_input(parameter)->front();
  const Var* var = var_of(value);
  if (direct_producer(var) == nullptr) return {&value, 1};
  const auto factor = parse_factor(*var->producer);
  if (!factor) return {&value, 1};
  const mil::Binding& x = var->producer->find_input(factor->x)->front();
  // A factor of more dimensions would have broadcast it.
  const Var* inner = var_of(x);
  if (inner == nullptr || inner->type.dims.size() != var->type.dims.size()) return {&value, 1};
  return {&x, factor->factor};
}

std::optional<View> ungrouped(Builder& builder, const Var* var) {
  const Operation* operation = direct_producer(var);
  if (operation == nullptr) return std::nullopt;
  const Var* x = operation->input_var("x");
  const Shape& shape = builder.info(var).shape;
  if (shape.size() != 4) return std::nullopt;
  if (mil::is_float_cast(*operation)) return ungrouped(builder, x);
  if (operation->type() == "transpose" &&
      ints_param(builder, *operation, "perm") == Axes{0, 1, 3, 2}) {
    const auto view = ungrouped(builder, x);
    if (!view) return std::nullopt;
    return transpose_view(*view, {0, 1, 3, 2});
  }
  // [batch, kv_heads, repeats, ...] or the same without a batch, with only `repeats` repeated.
  const Var* repeated = operation->type() == "reshape" ? x : var;
  const Operation* repeat = direct_producer(repeated);
  if (repeat == nullptr) return std::nullopt;
  View view;
  if (repeat->type() == "tile") {
    view = builder.view(repeated);
  } else if (repeat->type() == "concat") {
    const mil::Argument& values = repeat->inputs().at("values");
    const Var* value = var_of(values[0]);
    if (value == nullptr || !std::all_of(values.begin(), values.end(), [&](const auto& other) {
          return var_of(other) == value;
        })) {
      return std::nullopt;
    }
    const View once = builder.view(value);
    const Shape& wide = builder.info(repeated).shape;
    const int64_t axis =
        normalize_axis(int_param(builder, *repeat, "axis"), static_cast<int64_t>(wide.size()));
    if (!(once.shape[static_cast<size_t>(axis)] == Dim(1))) return std::nullopt;
    view = broadcast_view(once, wide);
  } else {
    return std::nullopt;
  }
  const size_t axis = view.shape.size() - 3;  // of the repeats
  if (view.shape.size() < 4 || view.shape.size() > 5 || !(view.strides[axis] == Dim(0)))
    return std::nullopt;
  if (repeated == var) {
    view.shape[1] = 1;
    return view;
  }
  if (!(view.shape[axis - 1] * view.shape[axis] == shape[1]) ||
      !(view.shape[axis + 1] == shape[2]) || !(view.shape[axis + 2] == shape[3])) {
    return std::nullopt;
  }
  view.shape.erase(view.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  view.strides.erase(view.strides.begin() + static_cast<std::ptrdiff_t>(axis));
  if (view.shape.size() == 3) {
    view.shape.insert(view.shape.begin(), Dim(1));
    view.strides.insert(view.strides.begin(), Dim(0));
  }
  return view.shape[0] == shape[0] ? std::optional(view) : std::nullopt;
}

bool fuse_attention(Builder& builder, const Operation& operation) {
  return operation.type() == "concat" ? fuse_heads(builder, operation)
                                      : fuse_product(builder, operation);
}

}  // namespace pippin::engine
