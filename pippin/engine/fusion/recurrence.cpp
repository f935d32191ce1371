// A recurrence and the update of its state as one step, whose tokens follow one another: what a
// program spells without loops is the least work in its order, and the state is read and written
// once.
#include "pippin/engine/fusion/carried_state.h"
#include "pippin/engine/fusion/fusion.h"
#include "pippin/engine/fusion/match.h"
#include "pippin/engine/fusion/recurrence_match.h"
#include "pippin/engine/fusion/recurrence_steps.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Operation;
using mil::Shape;
using mil::Var;

// A value in another shape, in fp32, with elements of the last axis side by side.
View rows_as(Builder& builder, const Var* var, const Shape& shape) {
  const View view = builder.view_as(builder.view(var), Storage::F32);
  auto reshaped = reshape_view(view, shape);
  if (!reshaped) reshaped = reshape_view(builder.contiguous(view), shape);
  if (shape.back() == Dim(1) || reshaped->strides.back() == Dim(1)) return *reshaped;
  return builder.contiguous(*reshaped);
}

bool fuse_decayed(Builder& builder, const Operation& root, const DecayedMatch& match) {
  const auto place = replace_carried(builder, root, match.state);
  if (!place) return false;
  const Shape& x = builder.info(match.x).shape;
  const Shape& state = builder.info(match.state).shape;
  const Shape shared = {state[0], x[2], state[3]};
  const View results =
      emit_decayed(builder, {*place, builder.view_as(builder.view(match.log_decay), Storage::F32),
                             rows_as(builder, match.x, x), rows_as(builder, match.keys, shared),
                             rows_as(builder, match.queries, shared)});
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
  const View results = emit_selective(
      builder,
      {*reshape_view(*place, state), rows_as(builder, match.steps, by_feature),
       rows_as(builder, match.inputs, by_feature), rows_as(builder, match.rates, state),
       rows_as(builder, match.keys, by_number), rows_as(builder, match.queries, by_number)});
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
  const View results = emit_linear_recurrence(
      builder, {*reshape_view(*place, {size}), rows_as(builder, match.decay, rows),
                rows_as(builder, match.x, rows)});
  builder.define_output(*match.results, *reshape_view(results, shape));
  return true;
}

}  // namespace

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
