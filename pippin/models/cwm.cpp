// Code World Model (Meta 2025): Llama 3 with windows in three of four layers.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions cwm(const Config& given) {
  const Config config = given.with_default_rope(
      R"({"rope_type": "llama3", "rope_theta": 1000000.0, "factor": 16.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})");
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 128256,
                                                 .hidden_size = 6144,
                                                 .intermediate_size = 21504,
                                                 .num_layers = 64,
                                                 .num_heads = 48,
                                                 .num_kv_heads = 8,
                                                 .head_dim = 128,
                                                 .context = 131072,
                                                 .epsilon = 1e-5,
                                                 .rope_theta = 1e6});
  const size_t count = model.layers.size();
  std::vector<bool> sliding(count);
  for (size_t i = 0; i < count; ++i) sliding[i] = i % 4 != 0;
  slide(model, sliding_layers(config, count).value_or(sliding), window_size(config, 8192));
  const bool mlp_bias = config.flag("mlp_bias", false);
  for (nn::LayerOptions& layer : model.layers) layer.mlp().bias = mlp_bias;
  return model;
}

}  // namespace pippin::models
