// DiffLlama (2024): Llama with differential attention.
#include <cmath>

#include <fmt/format.h>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions diffllama(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 32000,
                                                 .hidden_size = 2048,
                                                 .intermediate_size = 8192,
                                                 .num_layers = 16,
                                                 .num_heads = 32,
                                                 .context = 2048,
                                                 .epsilon = 1e-5});
  const bool bias = config.flag("attention_bias", false);
  for (size_t i = 0; i < model.layers.size(); ++i) {
    nn::AttentionOptions& attention = model.layers[i].attention();
    if (attention.num_heads % 2 != 0) {
      config.invalid("num_attention_heads",
                     fmt::format("{} is odd: heads work in pairs", attention.num_heads));
    }
    attention.qkv_bias = attention.output_bias = bias;
    attention.differential = 0.8 - 0.6 * std::exp(-0.3 * static_cast<double>(i));
    attention.differential_norm = model.norm;
  }
  return model;
}

}  // namespace pippin::models
