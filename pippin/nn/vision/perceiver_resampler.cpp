#include "pippin/nn/vision/perceiver_resampler.h"

#include "pippin/array/ops.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/vision/patch_embedding.h"

namespace pippin::nn {

using array::Array;

namespace {

// The values of `seen` that latents attend to. The queries of heads that share keys stand one after
// another.
Array perceived(const Parameters& parameters, const PerceiverResamplerOptions& options,
                const Array& latents, const Array& seen) {
  const array::Scope scope(parameters.path());
  const int64_t batch = latents.dim(0).constant(), features = options.features;
  const int64_t heads = options.num_heads, keys = options.num_kv_heads, dim = options.head_dim;
  const auto split = [&](const char* name, const Array& x, int64_t count) {
    const Array projected = Linear(parameters.at(name), features, count * dim)(x);
    return array::transpose(array::reshape(projected, {batch, x.dim(1), count, dim}), {0, 2, 1, 3});
  };
  const int64_t rows = options.num_latents;
  const Array queries =
      array::reshape(split("q_proj", latents, heads), {batch, keys, heads / keys * rows, dim});
  const Array attended = array::scaled_dot_product_attention(queries, split("k_proj", seen, keys),
                                                             split("v_proj", seen, keys));
  const Array by_head = array::reshape(attended, {batch, heads, rows, dim});
  const Array joined =
      array::reshape(array::transpose(by_head, {0, 2, 1, 3}), {batch, rows, heads * dim});
  return Linear(parameters.at("o_proj"), heads * dim, features)(joined);
}

}  // namespace

Array perceiver_resampled(const Parameters& parameters, const PerceiverResamplerOptions& options,
                          const Array& rows) {
  const int64_t features = options.features, batch = rows.dim(0).constant();
  constexpr const char* kLatents = "latents";
  const Array learned =
      reshaped_weight(parameters.get(kLatents, {options.num_latents, features}),
                      parameters.path() + "." + kLatents, {1, options.num_latents, features});
  const auto norm = [&](const Parameters& at, const char* name, const Array& x) {
    return Norm(at.at(name), features, options.norm)(x);
  };
  Array x = batch > 1 ? array::tile(learned, {batch, 1, 1}) : learned;
  for (int64_t i = 0; i < options.num_layers; ++i) {
    const Parameters layer = parameters.at("layers").at(i);
    const Array latents = norm(layer, "input_latents_norm", x);
    const Array seen = array::concat({norm(layer, "input_context_norm", rows), latents}, 1);
    x = x + perceived(layer.at("self_attn"), options, latents, seen);
    LayerCarry carry;
    const MLP mlp(
        layer.at("mlp"),
        {.features = features, .hidden_features = 4 * features, .activation = options.activation});
    x = x + mlp(norm(layer, "post_attention_layernorm", x), carry);
  }
  return norm(parameters, "norm", x);
}

}  // namespace pippin::nn
