// What architectures of one lineage share, besides what nearly all share (common.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "pippin/models/common.h"
#include "pippin/models/config.h"
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

}  // namespace pippin::models
