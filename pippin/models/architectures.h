// The architectures: one function each, in the file of its name. It reads a configuration, checks
// it, and describes the model; nothing is loaded.
#pragma once

#include <string_view>

#include "pippin/models/common.h"
#include "pippin/models/config.h"
#include "pippin/nn/decoder.h"

namespace pippin::models {

nn::DecoderOptions bloom(const Config& config);
nn::DecoderOptions cohere(const Config& config);
nn::DecoderOptions cohere2(const Config& config);
nn::DecoderOptions ernie4_5(const Config& config);
nn::DecoderOptions exaone(const Config& config);
nn::DecoderOptions exaone4(const Config& config);
nn::DecoderOptions falcon(const Config& config);
nn::DecoderOptions gemma(const Config& config);
nn::DecoderOptions gemma2(const Config& config);
nn::DecoderOptions gemma3(const Config& config);
nn::DecoderOptions glm(const Config& config);
nn::DecoderOptions glm4(const Config& config);
nn::DecoderOptions gpt2(const Config& config);
nn::DecoderOptions gpt_bigcode(const Config& config);
nn::DecoderOptions gpt_neox(const Config& config);
nn::DecoderOptions gptj(const Config& config);
nn::DecoderOptions granite(const Config& config);
nn::DecoderOptions hunyuan_v1_dense(const Config& config);
nn::DecoderOptions internlm2(const Config& config);
nn::DecoderOptions lfm2(const Config& config);
nn::DecoderOptions llama(const Config& config);
nn::DecoderOptions minicpm(const Config& config);
nn::DecoderOptions mistral(const Config& config);
nn::DecoderOptions mixtral(const Config& config);
nn::DecoderOptions mpt(const Config& config);
nn::DecoderOptions nemotron(const Config& config);
nn::DecoderOptions olmo(const Config& config);
nn::DecoderOptions olmo2(const Config& config);
nn::DecoderOptions olmo3(const Config& config);
nn::DecoderOptions openelm(const Config& config);
nn::DecoderOptions opt(const Config& config);
nn::DecoderOptions phi(const Config& config);
nn::DecoderOptions phi3(const Config& config);
nn::DecoderOptions qwen2(const Config& config);
nn::DecoderOptions qwen3(const Config& config);
nn::DecoderOptions smollm3(const Config& config);
nn::DecoderOptions stablelm(const Config& config);
nn::DecoderOptions starcoder2(const Config& config);

// Qwen's windows: use_sliding_window, sliding_window, max_window_layers, layer_types.
void slide_qwen(const Config& config, nn::DecoderOptions& model);
// What Gemma 2 and 3 share: four norms a layer, (1 + w), scaled embeddings, windows.
nn::DecoderOptions gemma_like(const Config& config, const Defaults& defaults,
                              std::string_view activation_key);

}  // namespace pippin::models
