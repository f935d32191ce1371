// Phi-3, Phi-3.5, Phi-4-mini (Microsoft): Llama with q, k, v and gate, up in one matrix each, long
// contexts by longrope, in Phi-4-mini rotation of a part of each head.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions phi3(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 32064,
                                                 .hidden_size = 3072,
                                                 .intermediate_size = 8192,
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .context = 4096,
                                                 .epsilon = 1e-5,
                                                 .rotary_factor = 1.0});
  const auto window = config.find_size("sliding_window", kMaxContext);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention().layout = nn::QkvLayout::Blocks;
    layer.attention().window = window;
    layer.mlp().fused = true;
    layer.mlp().gate = "gate_up_proj";
  }
  return model;
}

// The language model of Phi-4-multimodal (2025).
nn::DecoderOptions phi4_multimodal(const Config& config) {
  config.ignore({"vision_config", "audio_config"});
  nn::DecoderOptions model = phi3(config);
  model.other_parts.emplace_back("model.embed_tokens_extend.");
  return model;
}

}  // namespace pippin::models
