#include "pippin/models/vision/gemma4_layer.h"

#include <algorithm>
#include <cmath>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"

namespace pippin::models::vision {

using array::Array;

ClippedLinear::ClippedLinear(const nn::Parameters& parameters, int64_t in_features,
                             int64_t out_features, bool clips)
    : linear_(parameters.at("linear"), in_features, out_features) {
  if (!clips) return;
  const auto bounds = [&](const std::string& name) -> std::optional<Bounds> {
    const double lower = parameters.values(name + "_min", {}).at(0);
    const double upper = parameters.values(name + "_max", {}).at(0);
    if (!(lower <= upper)) {
      fail(ErrorCode::InvalidFile, "{}: '{}.{}_min' {} is above '{}_max' {}", parameters.file(),
           parameters.path(), name, lower, name, upper);
    }
    if (std::isinf(lower) && std::isinf(upper)) return std::nullopt;
    return Bounds{lower, upper};
  };
  inputs_ = bounds("input");
  outputs_ = bounds("output");
}

Array ClippedLinear::clipped(const Array& x, const std::optional<Bounds>& bounds) {
  return bounds ? array::clip(x, bounds->lower, bounds->upper) : x;
}

Array ClippedLinear::operator()(const Array& x) const {
  return clipped(linear_(clipped(x, inputs_)), outputs_);
}

namespace {

ClippedLinear matrix(const nn::Parameters& at, const Gemma4LayerOptions& options, int64_t in,
                     int64_t out) {
  return {at, in, out, options.clips};
}

// Both halves of heads (1, heads, patches, head_dim), each by its own angles.
Array rotate_halves(const Array& x, const nn::Rotation& first, const nn::Rotation& second) {
  const int64_t size = x.dim(3).constant();
  return array::concat({nn::rotate(array::slice_axis(x, 3, 0, size / 2), first),
                        nn::rotate(array::slice_axis(x, 3, size / 2, size), second)},
                       3);
}

}  // namespace

Gemma4Layer::Gemma4Layer(const nn::Parameters& parameters, const Gemma4LayerOptions& options)
    : path_(parameters.path()),
      options_(options),
      query_(matrix(parameters.at("self_attn.q_proj"), options, options.features,
                    options.num_heads * options.head_dim)),
      key_(matrix(parameters.at("self_attn.k_proj"), options, options.features,
                  options.num_kv_heads * options.head_dim)),
      value_(matrix(parameters.at("self_attn.v_proj"), options, options.features,
                    options.num_kv_heads * options.head_dim)),
      output_(matrix(parameters.at("self_attn.o_proj"), options,
                     options.num_heads * options.head_dim, options.features)),
      gate_(matrix(parameters.at("mlp.gate_proj"), options, options.features,
                   options.hidden_features)),
      up_(matrix(parameters.at("mlp.up_proj"), options, options.features, options.hidden_features)),
      down_(matrix(parameters.at("mlp.down_proj"), options, options.hidden_features,
                   options.features)),
      query_norm_(parameters.at("self_attn.q_norm"), options.head_dim, options.norm,
                  nn::Norm::Of::Heads),
      key_norm_(parameters.at("self_attn.k_norm"), options.head_dim, options.norm,
                nn::Norm::Of::Heads),
      value_norm_(parameters.at("self_attn.v_norm"), options.head_dim,
                  nn::without_weight(options.norm), nn::Norm::Of::Heads),
      before_attention_(parameters.at("input_layernorm"), options.features, options.norm),
      after_attention_(parameters.at("post_attention_layernorm"), options.features, options.norm),
      before_mlp_(parameters.at("pre_feedforward_layernorm"), options.features, options.norm),
      after_mlp_(parameters.at("post_feedforward_layernorm"), options.features, options.norm) {}

Array Gemma4Layer::heads(const Array& x, int64_t count) const {
  return array::transpose(array::reshape(x, {1, x.dim(1), count, options_.head_dim}), {0, 2, 1, 3});
}

Array Gemma4Layer::repeated(const Array& x) const {
  const int64_t group = options_.num_heads / options_.num_kv_heads;
  if (group == 1) return x;
  const Array tiled = array::tile(array::expand_dims(x, {2}), {1, 1, group, 1, 1});
  return array::reshape(tiled, {1, options_.num_heads, x.dim(2), x.dim(3)});
}

Array Gemma4Layer::attention(const Array& x, const nn::Rotation& columns,
                             const nn::Rotation& rows) const {
  // The operation divides scores by sqrt(head_dim), the model does not.
  const double scale = std::sqrt(static_cast<double>(options_.head_dim));
  const Array queries =
      rotate_halves(query_norm_(heads(query_(x), options_.num_heads)), columns, rows) * scale;
  const Array keys = rotate_halves(key_norm_(heads(key_(x), options_.num_kv_heads)), columns, rows);
  const Array values = value_norm_(heads(value_(x), options_.num_kv_heads));
  const Array seen = array::scaled_dot_product_attention(queries, repeated(keys), repeated(values));
  return output_(array::reshape(array::transpose(seen, {0, 2, 1, 3}),
                                {1, x.dim(1), options_.num_heads * options_.head_dim}));
}

Array Gemma4Layer::feed_forward(const Array& x) const {
  return down_(nn::apply(options_.activation, gate_(x)) * up_(x));
}

Array Gemma4Layer::operator()(const Array& x, const nn::Rotation& columns,
                              const nn::Rotation& rows) const {
  const array::Scope scope(path_);
  const Array mixed = x + after_attention_(attention(before_attention_(x), columns, rows));
  return mixed + after_mlp_(feed_forward(before_mlp_(mixed)));
}

}  // namespace pippin::models::vision
