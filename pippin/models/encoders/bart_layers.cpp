#include "pippin/models/encoders/bart_layers.h"

#include "pippin/models/config/common.h"

namespace pippin::models {

BartHalf bart_half(const Config& config, const std::string& side, const char* positions,
                   const BartHalf& defaults) {
  return {.layers = config.size(side + "_layers", defaults.layers, kMaxLayers),
          .heads = config.size(side + "_attention_heads", defaults.heads, kMaxHeads),
          .inner = config.size(side + "_ffn_dim", defaults.inner),
          .context = config.size(positions, defaults.context, kMaxContext)};
}

nn::LayerOptions bart_layer(const Config& config, const BartHalf& half, int64_t width,
                            bool norm_first, std::string_view activation) {
  nn::LayerOptions layer;
  layer.form = norm_first ? nn::LayerOptions::Form::Serial : nn::LayerOptions::Form::NormAfter;
  layer.features = width;
  layer.norm = {.kind = nn::NormOptions::Kind::Layer, .epsilon = 1e-5, .bias = true};
  layer.attention_norm = "self_attn_layer_norm";
  layer.mlp_norm = "final_layer_norm";
  nn::AttentionOptions& attention = layer.attention();
  attention.features = width;
  attention.num_heads = attention.num_kv_heads = half.heads;
  config.require_multiple("d_model", width, "attention heads", half.heads);
  attention.head_dim = width / half.heads;
  attention.qkv_bias = attention.output_bias = true;
  attention.output = "out_proj";
  layer.mlp_path.clear();
  nn::MLPOptions& mlp = layer.mlp();
  mlp.features = width;
  mlp.hidden_features = half.inner;
  mlp.activation = config.activation("activation_function", activation);
  mlp.gated = false;
  mlp.bias = true;
  mlp.up = "fc1";
  mlp.down = "fc2";
  return layer;
}

std::vector<EncoderDecoderDescription::Layer> bart_decoder_layers(const nn::LayerOptions& layer,
                                                                  int64_t count) {
  std::vector<EncoderDecoderDescription::Layer> layers;
  layers.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    auto& [own, across] = layers.emplace_back();
    own = across = layer;
    own.attention_path = "self_attn";
    own.mlp_norm.clear();
    own.feed_forward = nn::NoFeedForwardOptions{};
    across.attention_path = "encoder_attn";
    across.attention_norm = "encoder_attn_layer_norm";
    across.attention().keys_of = i;
  }
  return layers;
}

}  // namespace pippin::models
