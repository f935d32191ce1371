// Doge (SmallDoge 2024): Llama with norms on queries and keys, a mask computed from values, and a
// scale for each feature of the residual.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions doge(const Config& config) {
  nn::DecoderOptions model = llama_like(config, {.vocab_size = 32768,
                                                 .hidden_size = 1024,
                                                 .intermediate_size = 2048,
                                                 .num_layers = 32,
                                                 .num_heads = 8,
                                                 .context = 2048});
  if (config.flag("is_moe", false)) {
    config.unsupported("is_moe", "experts by product keys are not supported");
  }
  config.ignore({"num_experts", "num_experts_per_tok", "norm_topk_prob"});
  const bool bias = config.flag("attention_bias", false);
  const bool mlp_bias = config.flag("mlp_bias", false);
  const auto window = window_size(config, std::nullopt);
  const int64_t keep = config.size("keep_window_size", 2048, kMaxContext);
  for (nn::LayerOptions& layer : model.layers) {
    layer.mlp().bias = mlp_bias;
    layer.attention_residual.scale = "input_residual";
    layer.mlp_residual.scale = "post_attention_residual";
    nn::AttentionOptions& attention = layer.attention();
    attention.qkv_bias = attention.output_bias = bias;
    attention.window = window;
    attention.qk_norm = {.place = nn::QkNorm::Place::BeforeRope, .norm = layer.norm};
    attention.bias = nn::ValueMaskOptions{.num_heads = attention.num_heads,
                                          .num_kv_heads = attention.num_kv_heads,
                                          .head_dim = attention.head_dim,
                                          .keep = keep,
                                          .bias = bias};
  }
  return model;
}

}  // namespace pippin::models
