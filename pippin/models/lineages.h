// Shared by architectures of one lineage, in addition to common.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "pippin/models/config/common.h"
#include "pippin/models/config/config.h"
#include "pippin/models/config/experts_config.h"
#include "pippin/models/config/latent_config.h"
#include "pippin/nn/decoder.h"

namespace pippin::models {

// GPT-2 and its successors (gpt2.cpp): the names of sizes in config.json, which become aliases, and
// of modules; LayerNorms and feed-forwards with biases.
nn::DecoderOptions gpt2_like(Config& config, Defaults defaults);

// GPT-NeoX's names in a layer (gpt_neox.cpp), q, k and v of each head adjacent in one matrix.
void use_neox_layer(nn::LayerOptions& layer, bool attention_bias);

// Gemma 2 and 3 (gemma2.cpp): their sizes, four norms a layer, the scale of the scores.
nn::DecoderOptions gemma2_like(const Config& config, int64_t vocab_size, int64_t context,
                               double rope_theta, std::string_view rope_kind = "");

// Gemma 3n and 4 (gemma3n.cpp): rows of a table for each layer; the last num_kv_shared_layers
// layers, which read the keys and values of the last earlier layer of their kind.
nn::LayerRowsOptions layer_rows(const Config& config, const nn::DecoderOptions& model);
void share_keys(const Config& config, const std::vector<bool>& sliding, nn::DecoderOptions& model,
                int64_t fallback);

// Mixtral's sizes, and its experts (mixtral.cpp), which are not in the layers yet.
nn::DecoderOptions mixtral_like(const Config& config, nn::ExpertsOptions& experts);

// OLMo 2's layers and sizes (olmo2.cpp).
Defaults olmo2_defaults();
nn::DecoderOptions olmo2_like(const Config& config, const Defaults& defaults);

// Granite's multipliers and biases (granite.cpp).
nn::DecoderOptions granite_like(const Config& config, const Defaults& defaults);

// Its experts (granitemoe.cpp), whose names are those of a layer.
nn::ExpertsOptions granite_experts(const Config& config, const nn::DecoderOptions& model);
// The additional shared expert (granitemoeshared.cpp), of the given width.
void add_granite_shared_expert(nn::ExpertsOptions& experts, const nn::DecoderOptions& model,
                               int64_t width);

// LFM2's layers (lfm2.cpp), whose feed-forwards have the width of intermediate_size.
nn::DecoderOptions lfm2_like(const Config& config, const Defaults& defaults);

// EXAONE 4's attention (exaone4.cpp): windows by layer_types or a pattern of letters, positions in
// sliding layers only if there is a window, norms on each head of q and k.
void slide_exaone(const Config& config, nn::DecoderOptions& model);

// The query scale of Ministral 3 and Mistral 4 (ministral3.cpp):
// rope_parameters.llama_4_scaling_beta.
std::optional<nn::Temperature> mistral_temperature(const Config& config);

// DeepSeek-V3's lineage (deepseek_v3.cpp): latent attention, and experts that a corrected sigmoid
// chooses within groups, in all but the first layers.
struct DeepseekDefaults {
  Defaults sizes;
  LatentDefaults latent;
  ExpertDefaults experts;
  int64_t groups = 1, top_groups = 1;
  double routed_scale = 1.0;
  int64_t dense = 3;  // layers without experts
};
nn::DecoderOptions deepseek_like(const Config& config, const DeepseekDefaults& defaults);

// DeepSeek-V3.2's indexer (deepseek_v32.cpp), with the given number of heads if index_n_heads is
// absent, and its layer_types, which have one name.
nn::IndexerOptions indexer_of(const Config& config, const nn::LatentAttentionOptions& attention,
                              int64_t heads);
void check_sparse_kinds(const Config& config, size_t count);

// Qwen3-Next's layers with the dense feed-forwards of the sizes given (qwen3_next.cpp), and the
// gated delta rule of the keys that begin with "linear_".
nn::DecoderOptions qwen3_next_like(const Config& config, const Defaults& defaults);
nn::GatedDeltaOptions gated_delta(const Config& config, const nn::DecoderOptions& model);

}  // namespace pippin::models
