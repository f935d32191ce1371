#include "pippin/nn/experts/router.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"

namespace pippin::nn {
namespace {

using array::Array;
using Scores = RouterOptions::Scores;

// The number added to a sum so that it is not 0: fp16 has no smaller number than 2^-24.
double addable(double value, mil::DataType type) {
  return type == mil::DataType::Float16 && value > 0 ? std::max(value, std::exp2(-24)) : value;
}

// The table of experts by id, in int32.
Array table_of(const Parameters& parameters, const RouterOptions& options) {
  const std::vector<int64_t> dims = {options.vocab_size, options.top_k};
  return parameters.made(
      options.table, dims,
      [&](const std::string& full) {
        const std::vector<int64_t> stored = parameters.integers(options.table, dims);
        for (size_t i = 0; i < stored.size(); ++i) {
          if (stored[i] >= 0 && stored[i] < options.num_experts) continue;
          fail(ErrorCode::InvalidFile, "tensor '{}' has {} as element {}: there are {} experts",
               parameters.at(options.table).path(), stored[i], i, options.num_experts);
        }
        mil::Value value =
            mil::Value::of_int32s(std::vector<int32_t>(stored.begin(), stored.end()));
        value.type = mil::ValueType::tensor(mil::DataType::Int32, dims);
        return array::constant(std::move(value), full);
      },
      mil::DataType::Int32);
}

}  // namespace

Array places_of(const Array& indices, int64_t num, mil::DataType type) {
  const Array places = array::record_one(
      "one_hot", {{"indices", indices}, {"one_hot_vector_size", static_cast<int32_t>(num)}});
  return array::cast(places, type);
}

Router::Router(const Parameters& parameters, const RouterOptions& options)
    : path_(parameters.at(options.path).path()),
      options_(options),
      linear_(parameters.at(options.path), options.mlp ? options.mlp->hidden : options.features,
              options.num_experts + options.always, options.bias,
              {.transposed = options.transposed}) {
  if (options.mlp) mlp_.emplace(parameters, options.features, *options.mlp);
  if (!options.weight_scale.empty()) weight_scale_ = parameters.get(options.weight_scale, {1});
  if (!options.table.empty()) table_ = table_of(parameters, options);
  // A NaN would win every choice, and eventually spoil every token.
  const Parameters own = parameters.at(options.path);
  const int64_t scores = options.num_experts + options.always;
  std::vector<int64_t> matrix = {scores, options.mlp ? options.mlp->hidden : options.features};
  if (options.transposed) std::swap(matrix[0], matrix[1]);
  own.check_finite("weight", matrix);
  if (options.bias) own.check_finite("bias", {scores});
  if (options.input_norm) {
    NormOptions norm = *options.input_norm;
    norm.weight = false;
    input_norm_.emplace(own, options.features, norm);
    input_scale_ = parameters.made(options.input_scale, {options.features}, [&](const auto& full) {
      std::vector<double> values = parameters.values(options.input_scale, {options.features});
      for (double& value : values) value *= options.input_factor;
      return array::constant(parameters.type(), {options.features}, values, full);
    });
  }
  if (!options.expert_scale.empty()) {
    expert_scale_ = parameters.get(options.expert_scale, {options.num_experts});
  }
  if (options.correction.empty()) return;
  std::vector<int64_t> dims = {options.num_experts};
  if (options.correction_row) dims.insert(dims.begin(), options.correction_rows);
  parameters.check_finite(options.correction, dims);
  if (options.correction_rows == 1) {
    correction_ = parameters.get(options.correction, dims);
    return;
  }
  correction_ = parameters.made(options.correction, {options.num_experts}, [&](const auto& full) {
    std::vector<double> values = parameters.values(options.correction, dims);
    values.resize(static_cast<size_t>(options.num_experts));
    return array::constant(parameters.type(), {options.num_experts}, values, full);
  });
}

Array Router::scored(const Array& logits) const {
  if (options_.scores == Scores::Softmax) return array::softmax(logits);
  if (options_.scores == Scores::Sigmoid) return array::sigmoid(logits);
  if (options_.scores == Scores::SqrtSoftplus) return array::sqrt(array::softplus(logits));
  return logits;
}

// Excludes experts outside the best groups.
Array Router::grouped(const Array& scores) const {
  const int64_t each = options_.num_experts / options_.groups;
  const mil::Dim& tokens = scores.dim(1);
  const Array split = array::reshape(scores, {1, tokens, options_.groups, each});
  Array of_groups = array::reduce_max(split, {-1});
  if (options_.group_score == RouterOptions::GroupScore::SumOfTwo) {
    of_groups = array::reduce_sum(array::topk(split, std::min<int64_t>(2, each)).values, {-1});
  }
  const Array best = array::topk(of_groups, options_.top_groups).indices;
  const Array kept = array::reduce_sum(places_of(best, options_.groups, scores.type()), {2});
  const double other = options_.others_count_zero ? 0 : -std::numeric_limits<double>::infinity();
  const Array never = array::constant(scores.type(), other);
  const Array left = array::select(
      array::greater(array::expand_dims(kept, {-1}), array::constant(scores.type(), 0.0)), split,
      never);
  return array::reshape(left, {1, tokens, options_.num_experts});
}

// The scores by which experts are chosen.
Array Router::choice(const Array& scores) const {
  const Array corrected = correction_ ? scores + *correction_ : scores;
  return options_.groups > 1 ? grouped(corrected) : corrected;
}

Array Router::weighted(const Array& chosen) const {
  Array weights = options_.softmax_chosen ? array::softmax(chosen) : chosen;
  if (options_.sigmoid_chosen) weights = array::sigmoid(weights);
  if (options_.normalized) {
    Array sum = array::reduce_sum(weights, {-1}, /*keep_dims=*/true);
    const double added = addable(options_.added_to_sum, weights.type());
    const double least = addable(options_.least_sum, weights.type());
    if (added > 0) sum = sum + added;
    if (least > 0) sum = array::maximum(sum, least);
    weights = weights / sum;
  }
  if (options_.p_norm) {
    const double p = *options_.p_norm;
    const Array size = array::abs(weights);
    Array norm = array::reduce_sum(p == 1.0 ? size : array::pow(size, p), {-1}, true);
    if (p != 1.0) norm = array::pow(norm, 1 / p);
    weights = weights / norm;
  }
  return options_.scale == 1.0 ? weights : weights * options_.scale;
}

// Sparsemixer (Liu et al., "Sparse Backpropagation for MoE Training", 2023), as Phi-3.5-MoE uses it
// for inference: the weight of the best expert is its share of a softmax over those that are near
// it; then that of the second best likewise, without the first.
Route Router::sparse_mixer(const Array& logits) const {
  const Array lowest = array::constant(logits.type(), -std::numeric_limits<double>::infinity());
  const Array farthest = array::constant(logits.type(), 2 * options_.jitter);
  const Array size = array::abs(logits);
  Array left = logits;
  std::vector<Array> indices, weights;
  for (int64_t i = 0; i < options_.top_k; ++i) {
    const array::TopK best = array::topk(left, 1);
    const Array distance = (best.values - logits) / array::maximum(size, best.values);
    const Array near = array::select(array::greater(distance, farthest), lowest, left);
    weights.push_back(array::reduce_max(array::softmax(near), {-1}, /*keep_dims=*/true));
    indices.push_back(best.indices);
    if (i + 1 == options_.top_k) break;
    const Array place =
        array::squeeze(places_of(best.indices, options_.num_experts, logits.type()), {2});
    left = array::select(array::greater(place, array::constant(logits.type(), 0.0)), lowest, left);
  }
  const Array chosen = array::concat(indices, -1);
  return {chosen, array::concat(weights, -1)};
}

Route Router::operator()(const Array& x, LayerCarry& carry) const {
  const Array tokens = mlp_ ? (*mlp_)(x, carry) : x;
  const Array logits = linear_(input_norm_ ? (*input_norm_)(tokens) * *input_scale_ : tokens);
  const array::Scope scope(path_);
  Route route = routed(
      options_.softcap ? array::tanh(logits * (1 / *options_.softcap)) * *options_.softcap : logits,
      carry);
  if (expert_scale_) route.weights = route.weights * array::gather(*expert_scale_, route.indices);
  if (weight_scale_) route.weights = route.weights * *weight_scale_;
  if (weight_scale_ && route.always) route.always = *route.always * *weight_scale_;
  return route;
}

// Of given experts, with weights of their scores.
Route Router::looked_up(const Array& scores, const Array& indices) const {
  const Array places = places_of(indices, options_.num_experts, scores.type());
  const Array values = array::reduce_sum(places * array::expand_dims(scores, {2}), {-1});
  return {indices, weighted(values)};
}

Array Router::table_rows(const LayerCarry& carry) const {
  if (!carry.ids) {
    fail(ErrorCode::Unsupported,
         "'{}': experts by a token's id have no form for this package family", path_);
  }
  return array::gather(*table_, *carry.ids);
}

Route Router::with_always(const Array& scores) const {
  const int64_t count = options_.num_experts, top_k = options_.top_k;
  const Array own = array::slice_axis(scores, 2, 0, count);
  const Array others = array::slice_axis(scores, 2, count, count + options_.always);
  const Array chosen = array::topk(choice(own), top_k).indices;
  const Array places = places_of(chosen, count, scores.type());
  const Array values = array::reduce_sum(places * array::expand_dims(own, {2}), {-1});
  const Array all = weighted(array::concat({values, others}, 2));
  return {chosen, array::slice_axis(all, 2, 0, top_k),
          array::slice_axis(all, 2, top_k, top_k + options_.always)};
}

Route Router::routed(const Array& logits, const LayerCarry& carry) const {
  if (options_.scores == Scores::SparseMixer) return sparse_mixer(logits);
  const Array scores = scored(logits);
  if (table_) return looked_up(scores, table_rows(carry));
  if (options_.always > 0) return with_always(scores);
  if (!correction_ && options_.groups == 1) {
    const array::TopK best = array::topk(scores, options_.top_k);
    return {best.indices, weighted(best.values)};
  }
  return looked_up(scores, array::topk(choice(scores), options_.top_k).indices);
}

}  // namespace pippin::nn
