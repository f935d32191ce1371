// MiniMax-M3's text model (MiniMax 2026): (1 + w) norms, also on each head of q and k, layers that
// attend to blocks of keys chosen by an indexer, gpt-oss' bounded gate, and experts chosen by a
// corrected sigmoid.
#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/config/state_spaces.h"

namespace pippin::models {
namespace {

// A list of flags, one for each layer; published files have it in place of layer names.
std::optional<std::vector<bool>> layer_flags(const Config& config, std::string_view key,
                                             size_t count) {
  const auto list = config.find(key);
  if (!list) return std::nullopt;
  const std::vector<int64_t> given = list->as_ints();
  if (given.size() != count) {
    config.invalid(key, fmt::format("{} for {} layers", given.size(), count));
  }
  std::vector<bool> result;
  result.reserve(count);
  for (const int64_t flag : given) result.push_back(flag != 0);
  return result;
}

// A setting of the indexer: the published file's object has it under another name, which counts
// before the member of the configuration.
int64_t indexer_size(const Config& config, const char* name, const char* published,
                     int64_t fallback, int64_t max, int64_t least = 1) {
  const auto object = config.find("sparse_attention_config");
  const auto inner = object ? object->find(published) : std::nullopt;
  const auto value = inner ? inner : config.find(name);
  return value ? value->as_int(least, max) : fallback;
}

nn::BlockIndexerOptions block_indexer_of(const Config& config, const nn::DecoderOptions& model) {
  nn::BlockIndexerOptions indexer;
  indexer.features = model.hidden_size;
  indexer.num_heads = model.layers.at(0).attention().num_heads;
  indexer.heads = indexer_size(config, "index_n_heads", "sparse_num_index_heads", 4, kMaxHeads);
  indexer.head_dim = indexer_size(config, "index_head_dim", "sparse_index_dim", 128, kMaxHeadDim);
  indexer.block = indexer_size(config, "index_block_size", "sparse_block_size", 128, kMaxContext);
  indexer.top_blocks =
      indexer_size(config, "index_topk_blocks", "sparse_topk_blocks", 16, kMaxContext);
  indexer.local_blocks =
      indexer_size(config, "index_local_blocks", "sparse_local_block", 1, indexer.top_blocks, 0);
  indexer.norm = model.layers.at(0).norm;
  config.require_multiple("num_attention_heads", indexer.num_heads, "index_n_heads", indexer.heads);
  return indexer;
}

void bound_gate(const Config& config, std::optional<double>& limit, double& shift) {
  if (config.number("swiglu_alpha", 1.702) != 1.702) {
    config.unsupported("swiglu_alpha",
                       fmt::format("{} is not 1.702", config.number("swiglu_alpha", 1.702)));
  }
  limit = config.number("swiglu_limit", 7.0);
  shift = 1;
}

nn::ExpertsOptions m3_experts(const Config& config, const nn::DecoderOptions& model,
                              const nn::MLPOptions& dense) {
  nn::ExpertsOptions experts = experts_of(config, model,
                                          {.count_key = "num_local_experts",
                                           .count = 128,
                                           .top_k = 4,
                                           .width_key = "intermediate_size",
                                           .width = 3072});
  experts.activation = dense.activation;
  experts.limit = dense.limit;
  experts.up_shift = dense.up_shift;
  use_corrected_sigmoid(config, experts, true);
  experts.router.normalized = true;
  experts.router.added_to_sum = 0;
  experts.router.scale = config.number("routed_scaling_factor", 2.0);
  const int64_t width = config.size("shared_intermediate_size", 3072);
  add_shared_experts(config, experts, model, "n_shared_experts", 1);
  if (!experts.shared) return experts;
  const int64_t count = experts.shared->hidden_features / experts.weights.hidden_features;
  experts.shared = dense;
  experts.shared->hidden_features = width * count;
  return experts;
}

}  // namespace

nn::DecoderOptions minimax_m3_vl_text(const Config& config) {
  // As in transformers 5.16, whole heads are rotated, regardless of rotary_dim.
  config.ignore({"rotary_dim", "hidden_act"});
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 200064,
                                                 .hidden_size = 6144,
                                                 .intermediate_size = 12288,
                                                 .width_key = "dense_intermediate_size",
                                                 .num_layers = 60,
                                                 .num_heads = 64,
                                                 .num_kv_heads = 4,
                                                 .head_dim = 128,
                                                 .context = 524288,
                                                 .activation_key = "dense_hidden_act",
                                                 .rope_theta = 5e6,
                                                 .rotary_factor = 1.0});
  model.norm.one_plus = true;
  const size_t count = model.layers.size();
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    layer.attention().qk_norm = {.place = nn::QkNorm::Place::BeforeRope, .norm = model.norm};
    nn::MLPOptions& mlp = layer.mlp();
    mlp.activation = nn::Activation::QuickGelu;
    mlp.fused = true;
    mlp.gate = "gate_up_proj";
    bound_gate(config, mlp.limit, mlp.up_shift);
  }
  std::optional<std::vector<bool>> sparse;
  if (const auto object = config.find("sparse_attention_config")) {
    sparse = layer_flags(Config(*object), "sparse_attention_freq", count);
  }
  if (config.find("layer_types") || !sparse) {
    sparse = layer_kinds(config, "layer_types", count, "full_attention", "minimax_m3_sparse");
  }
  for (size_t i = 0; i < count; ++i) {
    if ((*sparse)[i]) model.layers[i].attention().bias = block_indexer_of(config, model);
  }
  const nn::ExpertsOptions experts = m3_experts(config, model, model.layers.at(0).mlp());
  const auto published = layer_flags(config, "moe_layer_freq", count);
  if (config.find("mlp_layer_types") || !published) {
    use_experts_by_type(config, model, experts, 0);
  } else {
    for (size_t i = 0; i < count; ++i) {
      if ((*published)[i]) model.layers[i].feed_forward = experts;
    }
  }
  skip_prediction_modules(config, model, "num_mtp_modules", "model.mtp.");
  return model;
}

}  // namespace pippin::models
