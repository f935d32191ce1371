// DeepSeek-V3.2 (2025) and GLM-5 (Zhipu 2026): DeepSeek-V3 with attention to the keys that an
// indexer chooses; GLM-5 rotates neighbouring pairs there, and some layers share an earlier one's
// choice.

#include <string>
#include <vector>

#include <fmt/core.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/state_spaces.h"
#include "pippin/models/lineages.h"

namespace pippin::models {

nn::IndexerOptions indexer_of(const Config& config, const nn::LatentAttentionOptions& attention,
                              int64_t heads) {
  nn::IndexerOptions indexer;
  indexer.features = attention.features;
  indexer.query_features = attention.query_rank;
  indexer.heads = config.size("index_n_heads", heads, kMaxHeads);
  indexer.head_dim = config.size("index_head_dim", 128, kMaxHeadDim);
  indexer.rope_dims = attention.rope_dims;
  indexer.top_k = config.size("index_topk", 2048, kMaxContext);
  if (attention.query_rank == 0) config.unsupported("q_lora_rank", "null is not supported");
  if (indexer.rope_dims > indexer.head_dim) {
    config.invalid("index_head_dim", fmt::format("{} is less than qk_rope_head_dim {}",
                                                 indexer.head_dim, indexer.rope_dims));
  }
  return indexer;
}

void check_sparse_kinds(const Config& config, size_t count) {
  constexpr std::string_view kKind = "deepseek_sparse_attention";
  layer_kinds(config, "layer_types", count, kKind, kKind);
}

namespace {

// The names of a list; of a text, F stands for full and S for shared.
std::vector<std::string> indexer_kinds(const Json& given) {
  if (!given.is_string()) return given.as_strings();
  std::vector<std::string> kinds;
  for (const char letter : given.as_string()) {
    kinds.push_back(letter == 'F' ? "full" : letter == 'S' ? "shared" : std::string(1, letter));
  }
  return kinds;
}

// By layer, whether it sees the keys that an earlier one chose.
std::vector<bool> sharing_layers(const Config& config, size_t count) {
  std::vector<bool> shares(count);
  for (const std::string_view key : {"indexer_types", "index_topk_pattern"}) {
    const auto list = config.find(key);
    if (!list) continue;
    const std::vector<std::string> kinds = indexer_kinds(*list);
    if (kinds.size() < count) {
      config.invalid(key, fmt::format("{} for {} layers", kinds.size(), count));
    }
    for (size_t i = 0; i < count; ++i) {
      shares[i] = kinds[i] == "shared";
      if (shares[i] || kinds[i] == "full") continue;
      config.unsupported(key, fmt::format("'{}' is not supported (known: full, shared)", kinds[i]));
    }
    return shares;
  }
  const auto every = static_cast<size_t>(config.size("index_topk_freq", 1, kMaxLayers));
  const auto offset = config.find("index_skip_topk_offset");
  const auto skipped = static_cast<size_t>(offset ? offset->as_int(0, kMaxLayers) : 2);
  for (size_t i = 0; i < count; ++i) {
    const size_t place = i + 1 > skipped ? i + 1 - skipped : 0;
    shares[i] = place % every != 0;
  }
  return shares;
}

}  // namespace

nn::DecoderOptions deepseek_v32(const Config& config) {
  nn::DecoderOptions model = deepseek_like(
      config,
      {.sizes = {.vocab_size = 129280,
                 .hidden_size = 7168,
                 .intermediate_size = 18432,
                 .num_layers = 61,
                 .num_heads = 128,
                 .context = 163840},
       .latent = {.query_rank = 1536,
                  .latent = 512,
                  .plain_dims = 128,
                  .rope_dims = 64,
                  .value_dims = 128},
       .experts = {.count_key = "n_routed_experts", .count = 256, .top_k = 8, .width = 2048},
       .groups = 8,
       .top_groups = 4,
       .routed_scale = 2.5});
  config.ignore({"mlp_bias"});  // it makes no difference in the class
  check_sparse_kinds(config, model.layers.size());
  for (nn::LayerOptions& layer : model.layers) {
    auto& attention = std::get<nn::LatentAttentionOptions>(layer.mixer);
    attention.indexer = indexer_of(config, attention, 64);
  }
  return model;
}

nn::DecoderOptions glm_moe_dsa(const Config& config) {
  nn::DecoderOptions model = deepseek_like(
      config,
      {.sizes = {.vocab_size = 154880,
                 .hidden_size = 6144,
                 .intermediate_size = 12288,
                 .num_layers = 78,
                 .num_heads = 64,
                 .context = 202752,
                 .epsilon = 1e-5},
       .latent = {.query_rank = 2048,
                  .latent = 512,
                  .plain_dims = 192,
                  .rope_dims = 64,
                  .value_dims = 256},
       .experts = {.count_key = "n_routed_experts", .count = 256, .top_k = 8, .width = 2048},
       .routed_scale = 2.5});
  config.ignore({"mlp_bias"});  // it makes no difference in the class
  check_sparse_kinds(config, model.layers.size());
  const auto shares = sharing_layers(config, model.layers.size());
  if (!shares.empty() && shares.front()) config.invalid("indexer_types", "the first is shared");
  for (size_t i = 0; i < shares.size(); ++i) {
    auto& attention = std::get<nn::LatentAttentionOptions>(model.layers[i].mixer);
    attention.chosen_before = shares[i];
    if (shares[i]) continue;
    attention.indexer = indexer_of(config, attention, 32);
    attention.indexer->interleaved = true;
  }
  return model;
}

}  // namespace pippin::models
