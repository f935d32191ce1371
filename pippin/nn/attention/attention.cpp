#include "pippin/nn/attention/attention.h"

#include <cmath>
#include <utility>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/nn/attention/qkv_rows.h"

namespace pippin::nn {

using array::Array;

Attention::Projection Attention::make(const Parameters& parameters, QkvPart part) const {
  const int64_t heads = part == QkvPart::Query ? options_.num_heads : options_.num_kv_heads;
  const std::string& own = part == QkvPart::Query ? options_.query
                           : part == QkvPart::Key ? options_.key
                                                  : options_.value;
  const Parameters at = parameters.at(options_.layout == QkvLayout::Separate ? own : options_.qkv);
  const int64_t stored_heads = options_.layout == QkvLayout::Separate ? heads : qkv_heads(options_);
  const bool gated = options_.output_gate && part == QkvPart::Query;
  const int64_t size = part == QkvPart::Value ? options_.value_size() : options_.head_dim;
  std::vector<int64_t> stored = {stored_heads * size * (gated ? 2 : 1), options_.features};
  if (options_.transposed) std::swap(stored[0], stored[1]);
  const WeightLayout layout = qkv_layout(options_, part);
  if (layout.groups == 0) at.check("weight", stored);
  const bool has_bias = part == QkvPart::Key ? options_.has_key_bias() : options_.qkv_bias;
  Linear linear(at, options_.features, heads * size, has_bias, layout);
  const std::string& adapter = part == QkvPart::Query ? options_.query_adapter
                               : part == QkvPart::Key ? options_.key_adapter
                                                      : options_.value_adapter;
  if (!adapter.empty()) {
    const Parameters matrices = parameters.at(adapter);
    linear.add(matrices.at(0).get("weight", {options_.adapter_rank, options_.features}),
               matrices.at(1).get("weight", {heads * size, options_.adapter_rank},
                                  qkv_layout(options_, part)));
  }
  if (part == QkvPart::Value) return {heads, std::move(linear), std::nullopt};
  const QkNorm& norm = options_.qk_norm;
  return {heads, std::move(linear),
          make_norm(parameters, part == QkvPart::Query ? norm.query : norm.key, heads)};
}

std::optional<Norm> Attention::make_norm(const Parameters& parameters, const std::string& name,
                                         int64_t heads) const {
  const QkNorm& norm = options_.qk_norm;
  const Parameters at = parameters.at(name);
  const int64_t size = options_.head_dim;
  if (norm.place == QkNorm::Place::None) return std::nullopt;
  if (norm.place == QkNorm::Place::Projection) return Norm(at, heads * size, norm.norm);
  const int64_t reordered = norm.norm.weight ? reordered_dims(options_, QkvPart::Query) : 0;
  if (norm.weights == QkNorm::Weights::Shared && reordered == 0)
    return Norm(at, size, norm.norm, Norm::Of::Heads);
  const int64_t rows = norm.weights == QkNorm::Weights::Shared ? 1 : heads;
  if (const auto ready = at.stored("weight", rows * size)) {
    return Norm(at, *ready, rows, norm.norm);
  }
  // Row by row, in the order of the reordered projections.
  std::vector<std::vector<double>> stored;
  if (norm.weights == QkNorm::Weights::Shared) {
    stored.push_back(at.values("weight", {size}));
  } else if (norm.weights == QkNorm::Weights::HeadModules) {
    for (int64_t head = 0; head < heads; ++head) {
      stored.push_back(at.at("norms").at(head).values("weight", {size}));
    }
  } else {
    const std::vector<double> all = at.values("weight", {heads, size});
    for (int64_t head = 0; head < heads; ++head) {
      const auto begin = all.begin() + head * size;
      stored.emplace_back(begin, begin + size);
    }
  }
  const auto order = deinterleaved(size, reordered);
  std::vector<std::vector<double>> weight;
  for (const auto& head : stored) {
    std::vector<double>& row = weight.emplace_back();
    for (const int64_t dim : order) row.push_back(head[static_cast<size_t>(dim)]);
  }
  return Norm(at, weight, norm.norm);
}

Attention::Attention(const Parameters& parameters, const AttentionOptions& options)
    : path_(parameters.path()),
      options_(options),
      style_(parameters.style()),
      q_(make(parameters, QkvPart::Query)),
      o_(parameters.at(options.output), options.num_heads * options.value_size(),
         options.output_features > 0 ? options.output_features : options.features,
         options.output_bias, {.transposed = options.transposed, .groups = options.output_groups}) {
  if (options.value_norm) {
    NormOptions norm = *options.value_norm;
    norm.weight = false;
    value_norm_.emplace(parameters.at("v_norm"), options.value_size(), norm, Norm::Of::Heads);
  }
  if (!options.keys_of) {
    k_ = make(parameters, QkvPart::Key);
    if (!options.values_of_keys) v_ = make(parameters, QkvPart::Value);
  }
  if (style_.channels() && (options.value_norm || options.values_of_keys)) {
    fail(ErrorCode::Unsupported,
         "'{}': values that are normed or shared with keys have no form for this package family",
         path_);
  }
  if (style_.convolutions && options.value_dim > 0) {
    fail(ErrorCode::Unsupported,
         "'{}': values of another size have no form for this package family", path_);
  }
  if (style_.convolutions && (options.sinks || options.temperature)) {
    fail(ErrorCode::Unsupported, "'{}': {} has no form for this package family", path_,
         options.sinks ? "attention with sinks" : "attention with temperatures");
  }
  if (options.sinks) {
    const std::vector<int64_t> dims = {1, options.num_heads, 1, 1};
    sinks_ = parameters.made(options.sinks_name, dims, [&](const std::string& full) {
      const std::vector<double> values = parameters.values(options.sinks_name, {options.num_heads});
      return array::constant(parameters.type(), dims, values, full);
    });
  }
  if (options.gate) {
    const AttentionOptions::Gate& gate = *options.gate;
    gate_.emplace(parameters.at(gate.path), options.features,
                  options.num_heads * (gate.by_head ? 1 : options.value_size()), gate.bias);
  }
  const bool gate_rows = options.output_gate || options.layout == QkvLayout::GateBlocks;
  if (gate_rows || options.gate) {
    if (style_.convolutions || (options.output_gate && options.layout != QkvLayout::Separate)) {
      fail(ErrorCode::Unsupported, "'{}': a gated output has no form for this package family",
           path_);
    }
    if (gate_rows) gate_.emplace(output_gate(parameters, options));
  }
  make_bias(parameters);
  if (const NamedNorm& norm = options.output_norm; !norm.name.empty()) {
    output_norm_.emplace(parameters.at(norm.name), options.num_heads * options.value_size(),
                         norm.norm);
  }
}

void Attention::make_bias(const Parameters& parameters) {
  const AttentionOptions& options = options_;
  bias_ = std::visit([&](const auto& bias) { return bias.make(parameters); }, options.bias);
  if (options.differential) {
    const DifferentialOptions sizes{options.num_heads, options.num_kv_heads, options.head_dim,
                                    *options.differential, options.differential_norm};
    differential_.emplace(parameters, sizes);
  }
  if (const auto& convolution = options.convolution) {
    const int64_t width = options.num_kv_heads * (options.head_dim + options.value_size());
    convolution_.emplace(parameters, convolution->modules, width, convolution->length,
                         convolution->state);
  }
  if (style_.channels() && (bias_ || differential_)) {
    fail(ErrorCode::Unsupported, "'{}': {} has no form for this package family", path_,
         bias_ ? "a bias of the scores" : "differential attention");
  }
}

Array Attention::project(const Projection& projection, const Array& x,
                         const Rotation* rotation) const {
  return finish(projection, projection.linear(x), rotation);
}

Array Attention::heads_of(const Array& y, int64_t heads) const {
  if (y.rank() == 4) {
    return array::transpose(array::reshape(y, {1, heads, y.dim(1).constant() / heads, y.dim(3)}),
                            {0, 1, 3, 2});
  }
  const int64_t size = y.dim(2).constant() / heads;
  return array::transpose(array::reshape(y, {y.dim(0), y.dim(1), heads, size}), {0, 2, 1, 3});
}

Array Attention::finish_values(const Array& y) const {
  const bool clips = options_.clip.has_value();
  const Array clipped = clips ? array::clip(y, -*options_.clip, *options_.clip) : y;
  const Array values = heads_of(clipped, options_.num_kv_heads);
  if (value_norm_) return (*value_norm_)(values);
  return options_.value_scale == 1.0 ? values : values * options_.value_scale;
}

Array Attention::finish(const Projection& projection, Array y, const Rotation* rotation) const {
  using Place = QkNorm::Place;
  const Place place = projection.norm ? options_.qk_norm.place : Place::None;
  const auto clipped = [&](bool normed) {
    const bool here = options_.clip && options_.clip_normed == normed;
    return here ? array::clip(y, -*options_.clip, *options_.clip) : y;
  };
  y = clipped(false);
  if (place == Place::Projection) y = (*projection.norm)(y.rank() == 4 ? to_rows(y) : y);
  y = clipped(true);
  y = heads_of(y, projection.heads);
  if (place == Place::BeforeRope) y = (*projection.norm)(y);
  if (rotation != nullptr) y = rotate(y, *rotation);
  if (place == Place::AfterRope) y = (*projection.norm)(y);
  return y;
}

Array Attention::expand_heads(const Array& x) const {
  const int64_t group = options_.num_heads / options_.num_kv_heads;
  if (group == 1) return x;
  const Array tiled = array::tile(array::expand_dims(x, {2}), {1, 1, group, 1, 1});
  return array::reshape(tiled, {x.dim(0), options_.num_heads, x.dim(2), x.dim(3)});
}

Array Attention::masked(const Array& scores, const Mask& mask) {
  return mask ? scores + *mask : scores;
}

Array Attention::attend(const Array& queries, const Array& keys, const Array& values,
                        const Mask& mask) const {
  if (style_.convolutions) return attend_spelled(queries, keys, values, mask);
  if (sinks_) return attend_with_sinks(queries, keys, values, mask);
  if (options_.softcap) return attend_softcapped(queries, keys, values, mask);
  Array scaled = queries;
  if (options_.scale) {
    // The op divides by sqrt(head_dim) itself.
    scaled = queries * (*options_.scale * std::sqrt(static_cast<double>(options_.head_dim)));
  }
  const Array all_keys = expand_heads(keys);
  return array::scaled_dot_product_attention(scaled, all_keys, expand_heads(values), mask);
}

Array Attention::grouped(const Array& queries) const {
  const int64_t groups = options_.num_kv_heads, group = options_.num_heads / groups;
  return array::reshape(queries,
                        {queries.dim(0), groups, mil::Dim(group) * queries.dim(2), queries.dim(3)});
}

// With grouped rows, so that keys and values are not repeated.
Array Attention::attend_softcapped(const Array& queries, const Array& keys, const Array& values,
                                   const Mask& mask) const {
  const mil::Dim &q = queries.dim(2), &end = keys.dim(2);
  const Array rows = grouped(queries * (scale() / *options_.softcap));
  const Array capped =
      array::tanh(array::matmul(rows, keys, false, /*transpose_y=*/true)) * *options_.softcap;
  const Array scores =
      masked(array::reshape(capped, {queries.dim(0), options_.num_heads, q, end}), mask);
  return array::reshape(array::matmul(grouped(array::softmax(scores)), values),
                        {queries.dim(0), options_.num_heads, q, options_.value_size()});
}

// The softmax has one more score in each row, whose weight is dropped.
Array Attention::attend_with_sinks(const Array& queries, const Array& keys, const Array& values,
                                   const Mask& mask) const {
  const mil::Dim &q = queries.dim(2), &end = keys.dim(2);
  const Array products =
      array::matmul(grouped(queries * scale()), keys, false, /*transpose_y=*/true);
  const Array scores =
      masked(array::reshape(products, {queries.dim(0), options_.num_heads, q, end}), mask);
  const Array repetitions = array::Builder::current().dims_array({queries.dim(0), 1, q, 1});
  const Array sinks = array::record_one("tile", {{"x", *sinks_}, {"reps", repetitions}});
  const Array weights = array::softmax(array::concat({scores, sinks}, -1));
  return array::reshape(array::matmul(grouped(array::slice_axis(weights, -1, 0, end)), values),
                        {queries.dim(0), options_.num_heads, q, options_.value_size()});
}

double Attention::scale() const {
  return options_.scale.value_or(1 / std::sqrt(static_cast<double>(options_.head_dim)));
}

Array Attention::softcapped(const Array& scores) const {
  if (!options_.softcap) return scores;
  return array::tanh(scores * (1 / *options_.softcap)) * *options_.softcap;
}

Array Attention::attend_spelled(const Array& queries, const Array& keys, const Array& values,
                                const Mask& mask) const {
  const Array all_keys = expand_heads(keys);
  const Array all_values = expand_heads(values);
  const Array products = array::matmul(queries, all_keys, false, /*transpose_y=*/true);
  const Array weights = array::softmax(masked(softcapped(products * scale()), mask));
  return array::matmul(weights, all_values);
}

void Attention::watch(const Array& queries, const Array& keys, const Mask& mask,
                      LayerCarry& carry) const {
  const array::Scope scope("weights");
  const Array all_keys = expand_heads(keys);
  std::vector<Array> chosen_queries, chosen_keys;
  for (const int64_t head : std::exchange(carry.watched_heads, {})) {
    chosen_queries.push_back(array::slice_axis(queries, 1, head, head + 1));
    chosen_keys.push_back(array::slice_axis(all_keys, 1, head, head + 1));
  }
  const Array products = array::matmul(array::concat(chosen_queries, 1),
                                       array::concat(chosen_keys, 1), false, /*transpose_y=*/true);
  carry.weights.push_back(array::softmax(masked(softcapped(products * scale()), mask)));
}

Array Attention::operator()(const Array& x, const MixerInput& input) const {
  const array::Scope scope(path_);
  if (input.mask == nullptr && (bias_ || differential_)) {
    fail(ErrorCode::Internal, "'{}': attention of this kind needs a mask", path_);
  }
  if (style_.channels()) return in_channels(x, input);
  const Array tokens = style_.convolutions ? to_channels(x) : x;
  Array queries = project(q_, tokens, input.rotation);
  if (options_.temperature) queries = queries * options_.temperature->factors(input.pass, x.type());
  const auto [keys, values] = seen_keys(tokens, input);
  Mask mask;
  if (input.mask != nullptr) mask = bias_ ? (*bias_)(x, values, input) : *input.mask;
  if (!input.carry.watched_heads.empty()) watch(queries, keys, mask, input.carry);
  const Array attended = differential_ ? (*differential_)(queries, keys, values, *mask)
                                       : attend(queries, keys, values, mask);
  if (style_.convolutions) {
    const int64_t width = options_.num_heads * options_.value_size();
    const Array columns = array::transpose(attended, {0, 1, 3, 2});
    const Array joined = array::reshape(columns, {1, width, 1, x.dim(1)});
    return to_rows(o_(output_norm_ ? output_norm_->between(joined) : joined));
  }
  const Array joined =
      array::reshape(array::transpose(attended, {0, 2, 1, 3}),
                     {x.dim(0), x.dim(1), options_.num_heads * options_.value_size()});
  if (gate_) return o_(gated(joined, x));
  return o_(output_norm_ ? (*output_norm_)(joined) : joined);
}

Array Attention::gated(const Array& joined, const Array& x) const {
  if (!options_.gate) return joined * array::sigmoid((*gate_)(x));
  const Array open = apply(options_.gate->activation, (*gate_)(x));
  if (!options_.gate->by_head) return joined * open;
  const mil::Shape by_head = {joined.dim(0), joined.dim(1), options_.num_heads,
                              options_.value_size()};
  const Array product = array::reshape(joined, by_head) * array::expand_dims(open, {3});
  return array::reshape(product, joined.shape());
}

std::pair<Array, Array> Attention::seen_keys(const Array& tokens, const MixerInput& input) const {
  if (options_.keys_of) return input.cache.seen(*options_.keys_of);
  const Array projected = k_->linear(tokens);
  if (convolution_) {
    const int64_t width = projected.dim(2).constant();
    const Array both = array::concat({projected, v_ ? v_->linear(tokens) : projected}, 2);
    const Array mixed = both + (*convolution_)(both, input);
    const Array keys = finish(*k_, array::slice_axis(mixed, 2, 0, width), input.rotation);
    const Array values = finish_values(array::slice_axis(mixed, 2, width, both.dim(2)));
    return input.cache.update(input.layer, keys, values, input.pass);
  }
  const Array keys = finish(*k_, projected, input.rotation);
  const Array values = finish_values(v_ ? v_->linear(tokens) : projected);
  return input.cache.update(input.layer, keys, values, input.pass);
}

MixerNeeds AttentionOptions::needs() const {
  const auto* const index = std::get_if<BlockIndexerOptions>(&bias);
  std::vector<CarriedState> states;
  if (convolution) {
    const int64_t width = num_kv_heads * (head_dim + value_size());
    states.push_back(convolution_state(width, convolution->length, convolution->state));
  }
  return {.name = "attention",
          .kv_heads = num_kv_heads,
          .head_dim = head_dim,
          .value_dim = value_dim,
          .stored = !keys_of,
          .index_dim = index == nullptr ? 0 : index->head_dim,
          .states = std::move(states),
          .rope = rope,
          .window = window,
          .window_after = window_after,
          .chunk = chunk};
}

std::unique_ptr<const Mixer> AttentionOptions::make(const Parameters& parameters) const {
  return std::make_unique<Attention>(parameters, *this);
}

}  // namespace pippin::nn
