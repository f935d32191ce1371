#include "pippin/nn/vision/attention_pooling.h"

#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "pippin/array/ops.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/vision/patch_embedding.h"

namespace pippin::nn {

using array::Array;

namespace {

// The part of the joined projection with this index.
Linear part_of_projection(const Parameters& attention, int64_t features, int64_t index,
                          const char* name) {
  WeightLayout layout;
  layout.stored_rows = 3 * features;
  layout.rows.resize(static_cast<size_t>(features));
  std::iota(layout.rows.begin(), layout.rows.end(), index * features);
  layout.part = name;
  const Array weight = attention.get("in_proj_weight", {features, features}, layout);
  return Linear(attention.path() + "." + name, weight,
                attention.get("in_proj_bias", {features}, layout));
}

Array learned_query(const Parameters& parameters, const char* name, int64_t features) {
  return reshaped_weight(parameters.get(name, {1, 1, features}),
                         fmt::format("{}.{}", parameters.path(), name), {1, 1, features});
}

// (batch, 1, features) for one query (1, 1, features).
Array attended_by(const Array& query, const Array& keys, const Array& values, int64_t heads) {
  const int64_t batch = keys.dim(0).constant(), features = keys.dim(2).constant();
  const auto split = [&](const Array& x) {
    return array::transpose(array::reshape(x, {x.dim(0), x.dim(1), heads, features / heads}),
                            {0, 2, 1, 3});
  };
  const Array one = split(query);
  const Array queries = batch > 1 ? array::tile(one, {batch, 1, 1, 1}) : one;
  const Array all_keys = split(keys);
  const Array attended = array::scaled_dot_product_attention(queries, all_keys, split(values));
  return array::reshape(array::transpose(attended, {0, 2, 1, 3}), {batch, 1, features});
}

}  // namespace

Array token_pooled(const Parameters& parameters, const TokenPoolingOptions& options,
                   const Array& states) {
  const array::Scope scope(parameters.path());
  const int64_t features = options.features;
  const Array query = learned_query(parameters, "cls_token", features);
  const Array keys = Linear(parameters.at("k_proj"), features, features, options.bias)(states);
  const Array values = Linear(parameters.at("v_proj"), features, features, options.bias)(states);
  return Linear(parameters.at("output_proj"), features, features,
                /*bias=*/true)(attended_by(query, keys, values, options.num_heads));
}

Array attention_pooled(const Parameters& parameters, const AttentionPoolingOptions& options,
                       const Array& states) {
  const array::Scope scope(parameters.path());
  const int64_t features = options.features;
  const Parameters attention = parameters.at("attention");
  const Array probe = learned_query(parameters, "probe", features);
  const Array query = part_of_projection(attention, features, 0, "q")(probe);
  const Array keys = part_of_projection(attention, features, 1, "k")(states);
  const Array values = part_of_projection(attention, features, 2, "v")(states);
  const Array attended = attended_by(query, keys, values, options.num_heads);
  const Array x = Linear(attention.at("out_proj"), features, features, /*bias=*/true)(attended);
  LayerCarry carry;
  const Norm norm(parameters.at("layernorm"), features, options.norm);
  return x + MLP(parameters.at("mlp"), options.mlp)(norm(x), carry);
}

}  // namespace pippin::nn
