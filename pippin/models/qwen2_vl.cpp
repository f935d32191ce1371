// The language models of Qwen2-VL and Qwen2.5-VL, which are Qwen2's, and of Qwen3-VL, which is
// Qwen3's; pictures have positions with three coordinates (vision_language.cpp).
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions qwen2_vl_text(const Config& given) {
  const Config config = given.with_default("max_window_layers", "80");
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 152064,
                                                 .hidden_size = 8192,
                                                 .intermediate_size = 29568,
                                                 .num_layers = 80,
                                                 .num_heads = 64,
                                                 .num_kv_heads = 8,
                                                 .context = 32768,
                                                 .epsilon = 1e-5,
                                                 .rope_theta = 1e6});
  for (nn::LayerOptions& layer : model.layers) layer.attention().qkv_bias = true;
  slide_qwen(config, model);
  return model;
}

nn::DecoderOptions qwen3_vl_text(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 151936,
                                                 .hidden_size = 4096,
                                                 .intermediate_size = 22016,
                                                 .num_layers = 32,
                                                 .num_heads = 32,
                                                 .num_kv_heads = 32,
                                                 .head_dim = 128,
                                                 .context = 128000,
                                                 .rope_theta = 5e5});
  const bool bias = config.flag("attention_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    nn::AttentionOptions& attention = layer.attention();
    attention.qkv_bias = attention.output_bias = bias;
    attention.qk_norm = {.place = nn::QkNorm::Place::BeforeRope, .norm = layer.norm};
  }
  return model;
}

}  // namespace pippin::models
