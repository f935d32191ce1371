#include "pippin/nn/vision/attention_pooling.h"

#include <numeric>
#include <vector>

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

}  // namespace

Array attention_pooled(const Parameters& parameters, const AttentionPoolingOptions& options,
                       const Array& states) {
  const array::Scope scope(parameters.path());
  const int64_t features = options.features, heads = options.num_heads;
  const int64_t batch = states.dim(0).constant();
  const Parameters attention = parameters.at("attention");
  const Array probe = reshaped_weight(parameters.get("probe", {1, 1, features}),
                                      parameters.path() + ".probe", {1, 1, features});
  const auto split = [&](const Array& x) {
    return array::transpose(array::reshape(x, {x.dim(0), x.dim(1), heads, features / heads}),
                            {0, 2, 1, 3});
  };
  const Array query = split(part_of_projection(attention, features, 0, "q")(probe));
  const Array keys = split(part_of_projection(attention, features, 1, "k")(states));
  const Array values = split(part_of_projection(attention, features, 2, "v")(states));
  const Array queries = batch > 1 ? array::tile(query, {batch, 1, 1, 1}) : query;
  const Array attended = array::reshape(
      array::transpose(array::scaled_dot_product_attention(queries, keys, values), {0, 2, 1, 3}),
      {batch, 1, features});
  const Array x = Linear(attention.at("out_proj"), features, features, /*bias=*/true)(attended);
  LayerCarry carry;
  const Norm norm(parameters.at("layernorm"), features, options.norm);
  return x + MLP(parameters.at("mlp"), options.mlp)(norm(x), carry);
}

}  // namespace pippin::nn
