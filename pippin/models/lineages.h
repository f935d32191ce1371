// What architectures of one lineage share, besides what nearly all share (common.h).
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

// GPT-2 and those after it (gpt2.cpp): the names of sizes in config.json, which become aliases, and
// of modules; LayerNorms and feed-forwards with biases.
nn::DecoderOptions gpt2_like(Config& config, Defaults defaults);

// GPT-NeoX's names in a layer (gpt_neox.cpp), q, k and v of each head side by side.
void use_neox_layer(nn::LayerOptions& layer, bool attention_bias);

// Gemma 2 and 3 (gemma2.cpp): their sizes, four norms a layer, the scale of the scores.
nn::DecoderOptions gemma2_like(const Config& config, int64_t vocab_size, int64_t context,
                               double rope_theta, std::string_view rope_kind = "");

// Gemma 3n's and 4's (gemma3n.cpp): rows of a table for each layer; layers, as many as
// num_kv_shared_layers says, that read the keys and values of the last one of their kind before.
nn::LayerRowsOptions layer_rows(const Config& config, const nn::DecoderOptions& model);
void share_keys(const Config& config, const std::vector<bool>& sliding, nn::DecoderOptions& model,
                int64_t fallback);

// OLMo 2's layers and sizes (olmo2.cpp).
Defaults olmo2_defaults();
nn::DecoderOptions olmo2_like(const Config& config, const Defaults& defaults);

// Granite's multipliers and biases (granite.cpp).
nn::DecoderOptions granite_like(const Config& config, const Defaults& defaults);

// Its experts (granitemoe.cpp), whose names are those of a layer.
nn::ExpertsOptions granite_experts(const Config& config, const nn::DecoderOptions& model);
// The shared one beside them (granitemoeshared.cpp), as wide as told.
void add_granite_shared_expert(nn::ExpertsOptions& experts, const nn::DecoderOptions& model,
                               int64_t width);

// LFM2's layers (lfm2.cpp), whose feed-forwards are as wide as intermediate_size says.
nn::DecoderOptions lfm2_like(const Config& config, const Defaults& defaults);

// EXAONE 4's attention (exaone4.cpp): windows by layer_types or a pattern of letters, positions in
// sliding layers alone where there is a window, norms on each head of q and k.
void slide_exaone(const Config& config, nn::DecoderOptions& model);

// Ministral 3's and Mistral 4's queries (ministral3.cpp): rope_parameters.llama_4_scaling_beta.
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

// Qwen3-Next's layers with the dense feed-forwards of the sizes given (qwen3_next.cpp), and the
// gated delta rule of the keys that begin with "linear_".
nn::DecoderOptions qwen3_next_like(const Config& config, const Defaults& defaults);
nn::GatedDeltaOptions gated_delta(const Config& config, const nn::DecoderOptions& model);

}  // namespace pippin::models
