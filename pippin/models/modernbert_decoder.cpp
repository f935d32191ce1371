// ModernBERT as a decoder, Ettin (Johns Hopkins University 2025): windows in two of three layers, a
// gated GELU, a layer before the head.

#include <algorithm>
#include <vector>

#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"

namespace pippin::models {

nn::DecoderOptions modernbert_decoder(const Config& config) {
  nn::DecoderOptions model = plain_decoder(config, {.vocab_size = 50368,
                                                    .hidden_size = 768,
                                                    .intermediate_size = 1152,
                                                    .num_layers = 22,
                                                    .num_heads = 12,
                                                    .context = 8192,
                                                    .epsilon_key = "norm_eps",
                                                    .epsilon = 1e-5,
                                                    .activation_key = "hidden_activation",
                                                    .activation = "gelu",
                                                    .tied = true});
  model.embedding = "embeddings.tok_embeddings";
  model.embedding_norm = "embeddings.norm";
  model.final_norm = "final_norm";
  model.head = "decoder";
  model.head_bias = config.flag("decoder_bias", true);
  model.norm.kind = nn::NormOptions::Kind::Layer;
  model.norm.bias = config.flag("norm_bias", false);
  model.head_layer = {.path = "lm_head.dense",
                      .bias = config.flag("classifier_bias", false),
                      .activation = config.activation("classifier_activation", "gelu"),
                      .norm = {"lm_head.norm", model.norm}};
  const size_t count = model.layers.size();
  const auto every = static_cast<size_t>(config.size("global_attn_every_n_layers", 3, kMaxLayers));
  std::vector<bool> local(count);
  for (size_t i = 0; i < count; ++i) local[i] = i % every != 0;
  const auto sliding = sliding_layers(config, count).value_or(local);
  const int64_t half = config.size("local_attention", 128, kMaxContext) / 2;
  slide(model, sliding, config.size("sliding_window", std::max<int64_t>(half, 1), kMaxContext));
  add_ropes_by_kind(config, model, sliding, {.theta = config.number("global_rope_theta", 160000.0)},
                    {.theta = config.number("local_rope_theta", 10000.0)});
  const bool bias = config.flag("attention_bias", false);
  const bool mlp_bias = config.flag("mlp_bias", false);
  for (nn::LayerOptions& layer : model.layers) {
    layer.norm = model.norm;
    layer.attention_norm = "attn_norm";
    layer.mlp_norm = "mlp_norm";
    layer.attention_path = "attn";
    layer.attention().output = "Wo";
    layer.attention().qkv_bias = layer.attention().output_bias = bias;
    layer.mlp().fused = true;
    layer.mlp().gate = "Wi";
    layer.mlp().down = "Wo";
    layer.mlp().bias = mlp_bias;
  }
  model.layers.front().attention_norm.clear();
  return model;
}

}  // namespace pippin::models
