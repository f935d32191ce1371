// Apertus (Swiss AI 2025): Llama with an RMSNorm on each head of q and k, and a feed-forward
// without a gate whose activation, xIELU, has parameters in every layer.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions apertus(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 131072,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 14336,
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .context = 65536,
                                                 .epsilon = 1e-5,
                                                 .activation = "xielu",
                                                 .rope_theta = 1.2e7});
  // The class scales like Llama 3 unless the file has another value, including null.
  if (!config.contains("rope_scaling") && !config.contains("rope_parameters")) {
    model.ropes.at(0).scaling = {.kind = nn::RopeScaling::Kind::Llama3,
                                 .factor = 8.0,
                                 .low_frequency_factor = 1.0,
                                 .high_frequency_factor = 4.0,
                                 .original_context = 8192};
  }
  const bool attention_bias = config.flag("attention_bias", false);
  const bool mlp_bias = config.flag("mlp_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention_norm = "attention_layernorm";
    layer.mlp_norm = "feedforward_layernorm";
    layer.attention().qkv_bias = layer.attention().output_bias = attention_bias;
    layer.attention().qk_norm = {.place = nn::QkNorm::Place::BeforeRope, .norm = layer.norm};
    layer.mlp().bias = mlp_bias;
    layer.mlp().gated = false;
  }
  return model;
}

}  // namespace pippin::models
