// A.X K2 (SK Telecom 2026): DeepSeek-V3.2 with a gate on attention's result, and self-gated norms:
// each layer's first, and the second one of layers with experts.
#include <algorithm>
#include <string>
#include <variant>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

namespace {

// Layers with experts, from the keys before mlp_layer_types: each moe_layer_freq-th one after the
// first ones.
std::string feed_forward_kinds(const Config& config) {
  const int64_t count = config.size("num_hidden_layers", 48, kMaxLayers);
  const int64_t every = config.size("moe_layer_freq", 1, kMaxLayers);
  const auto first = config.find("first_k_dense_replace");
  const int64_t dense = first ? std::max<int64_t>(0, first->as_int()) : 1;
  JsonWriter writer;
  writer.begin_array();
  for (int64_t i = 0; i < count; ++i) {
    writer.value(i >= dense && i % every == 0 ? "sparse" : "dense");
  }
  return writer.end_array().text();
}

}  // namespace

nn::DecoderOptions axk2(const Config& given) {
  const Config config = given.with_default("mlp_layer_types", feed_forward_kinds(given));
  nn::DecoderOptions model = deepseek_like(
      config,
      {.sizes = {.vocab_size = 163840,
                 .hidden_size = 2048,
                 .intermediate_size = 5120,
                 .num_layers = 48,
                 .num_heads = 32,
                 .context = 131072},
       .latent =
           {.query_rank = 384, .latent = 128, .plain_dims = 64, .rope_dims = 32, .value_dims = 64},
       .experts = {.count_key = "n_routed_experts", .count = 128, .top_k = 8, .width = 512},
       .routed_scale = 2.5,
       .dense = 1});
  check_sparse_kinds(config, model.layers.size());
  const int64_t rank = config.size("gated_norm_rank", 16);
  for (nn::LayerOptions& layer : model.layers) {
    auto& attention = std::get<nn::LatentAttentionOptions>(layer.mixer);
    attention.indexer = indexer_of(config, attention, 16);
    attention.gated = true;
    layer.attention_norm_rank = rank;
    auto* const experts = std::get_if<nn::ExpertsOptions>(&layer.feed_forward);
    if (experts == nullptr) continue;
    layer.mlp_norm_rank = rank;
    experts->router.others_count_zero = true;
  }
  return model;
}

}  // namespace pippin::models
