#include "pippin/nn/experts/router.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "pippin/array/ops.h"

namespace pippin::nn {
namespace {

using array::Array;
using Scores = RouterOptions::Scores;

// The number added to a sum so that it is not 0: fp16 has no smaller number than 2^-24.
double addable(double value, mil::DataType type) {
  return type == mil::DataType::Float16 && value > 0 ? std::max(value, std::exp2(-24)) : value;
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
      linear_(parameters.at(options.path), options.features, options.num_experts, options.bias,
              {.transposed = options.transposed}) {
  // A NaN would win every choice, and eventually spoil every token.
  const Parameters own = parameters.at(options.path);
  std::vector<int64_t> matrix = {options.num_experts, options.features};
  if (options.transposed) std::swap(matrix[0], matrix[1]);
  own.check_finite("weight", matrix);
  if (options.bias) own.check_finite("bias", {options.num_experts});
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
  const Array never = array::constant(scores.type(), -std::numeric_limits<double>::infinity());
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

Route Router::operator()(const Array& x) const {
  const Array logits = linear_(input_norm_ ? (*input_norm_)(x) * *input_scale_ : x);
  const array::Scope scope(path_);
  Route route =
      routed(options_.softcap ? array::tanh(logits * (1 / *options_.softcap)) * *options_.softcap
                              : logits);
  if (expert_scale_) route.weights = route.weights * array::gather(*expert_scale_, route.indices);
  return route;
}

Route Router::routed(const Array& logits) const {
  if (options_.scores == Scores::SparseMixer) return sparse_mixer(logits);
  const Array scores = scored(logits);
  if (!correction_ && options_.groups == 1) {
    const array::TopK best = array::topk(scores, options_.top_k);
    return {best.indices, weighted(best.values)};
  }
  const Array chosen = array::topk(choice(scores), options_.top_k).indices;
  const Array places = places_of(chosen, options_.num_experts, scores.type());
  const Array values = array::reduce_sum(places * array::expand_dims(scores, {2}), {-1});
  return {chosen, weighted(values)};
}

}  // namespace pippin::nn
