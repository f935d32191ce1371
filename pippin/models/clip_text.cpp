// The text models of CLIP (Radford et al. 2021), alone or next to its tower of images, of
// MetaCLIP 2, SigLIP (Zhai et al. 2023) and AIMv2 (LiT; Fini et al. 2024). The state of one token
// is the text's embedding: the end token's, or the last one's (SigLIP).
#include <string>

#include "pippin/models/config/common.h"
#include "pippin/models/encoders.h"

namespace pippin::models {
namespace {

// The defaults of a configuration class for absent keys.
struct TextDefaults {
  int64_t vocab_size = 49408, context = 77;
  int64_t hidden_size = 512, intermediate_size = 2048;
  int64_t num_heads = 8;
  std::string_view activation = "quick_gelu", epsilon_key = "layer_norm_eps";
  double epsilon = 1e-5;
};

// The layers, with CLIP's names.
EncoderDescription clip_like_text(const Config& config, const TextDefaults& defaults) {
  EncoderDescription model;
  nn::EncoderOptions& encoder = model.encoder;
  encoder.bases = {"text_model", ""};
  encoder.vocab_size = config.size("vocab_size", defaults.vocab_size);
  encoder.hidden_size = config.size("hidden_size", defaults.hidden_size);
  encoder.context = config.size("max_position_embeddings", defaults.context, kMaxContext);
  encoder.embedding = "embeddings.token_embedding";
  encoder.positions =
      nn::LearnedPositions{.path = "embeddings.position_embedding", .rows = encoder.context};
  encoder.norm = {.kind = nn::NormOptions::Kind::Layer,
                  .epsilon = config.number(defaults.epsilon_key, defaults.epsilon),
                  .bias = true};
  encoder.final_norm = "final_layer_norm";
  encoder.layers_path = "encoder.layers";
  encoder.causal = true;
  nn::LayerOptions layer;
  layer.features = encoder.hidden_size;
  layer.norm = encoder.norm;
  layer.attention_norm = "layer_norm1";
  layer.mlp_norm = "layer_norm2";
  nn::AttentionOptions& attention = layer.attention();
  attention.features = encoder.hidden_size;
  attention.num_heads = attention.num_kv_heads =
      config.size("num_attention_heads", defaults.num_heads, kMaxHeads);
  config.require_multiple("hidden_size", encoder.hidden_size, "num_attention_heads",
                          attention.num_heads);
  attention.head_dim = encoder.hidden_size / attention.num_heads;
  attention.qkv_bias = attention.output_bias = true;
  attention.output = "out_proj";
  nn::MLPOptions& mlp = layer.mlp();
  mlp.features = encoder.hidden_size;
  mlp.hidden_features = config.size("intermediate_size", defaults.intermediate_size);
  mlp.activation = config.activation("hidden_act", defaults.activation);
  mlp.gated = false;
  mlp.bias = true;
  mlp.up = "fc1";
  mlp.down = "fc2";
  encoder.layers.assign(static_cast<size_t>(config.size("num_hidden_layers", 12, kMaxLayers)),
                        layer);
  return model;
}

int32_t end_token(const Config& config, const nn::EncoderOptions& encoder) {
  const int64_t end = config.json().get_int_or("eos_token_id", 49407);
  if (end < 0 || end >= encoder.vocab_size) config.invalid("eos_token_id", "not a token");
  return static_cast<int32_t>(end);
}

// Older configurations have 2, which is not the end token: it is then the largest id.
int32_t clip_end_token(const Config& config, const nn::EncoderOptions& encoder) {
  const int32_t end = end_token(config, encoder);
  return end == 2 ? -1 : end;
}

// text_config; an absent one is empty.
Config text_part(const Config& config) {
  config.ignore({"vision_config"});
  const auto part = config.find("text_config");
  return Config(part ? *part : Json::parse("{}", config.json().where("text_config")));
}

// The projection to the space of images.
EncoderDescription::EndPooling shared_space(const Config& config, int32_t end) {
  return {.token = end,
          .projection = "text_projection",
          .size = config.size("projection_dim", 512),
          .unit_length = true};
}

}  // namespace

EncoderDescription clip_text(const Config& config) {
  EncoderDescription model = clip_like_text(config, {});
  model.end_pooling = EncoderDescription::EndPooling{.token = clip_end_token(config, model.encoder),
                                                     .projection = "text_projection",
                                                     .size = config.size("projection_dim", 512)};
  return model;
}

EncoderDescription clip_pair(const Config& config) {
  const Config text = text_part(config);
  EncoderDescription model = clip_like_text(text, {});
  model.end_pooling = shared_space(config, clip_end_token(text, model.encoder));
  text.ignore({"projection_dim"});
  text.refuse_unread();
  return model;
}

EncoderDescription metaclip_2_pair(const Config& config) {
  const Config text = text_part(config);
  EncoderDescription model = clip_like_text(text, {});
  model.end_pooling = shared_space(config, end_token(text, model.encoder));
  text.ignore({"projection_dim"});
  text.refuse_unread();
  return model;
}

EncoderDescription siglip_pair(const Config& config) {
  const Config text = text_part(config);
  EncoderDescription model = clip_like_text(text, {.vocab_size = 32000,
                                                   .context = 64,
                                                   .hidden_size = 768,
                                                   .intermediate_size = 3072,
                                                   .num_heads = 12,
                                                   .activation = "gelu_pytorch_tanh",
                                                   .epsilon = 1e-6});
  model.encoder.causal = false;
  model.fills_texts = true;
  model.end_pooling = EncoderDescription::EndPooling{
      .last = true,
      .projection = "text_model.head",
      .bias = true,
      .size = text.size("projection_size", model.encoder.hidden_size),
      .unit_length = true};
  text.refuse_unread();
  return model;
}

EncoderDescription siglip2_pair(const Config& config) {
  EncoderDescription model = siglip_pair(config);
  model.lowers_case = true;
  return model;
}

EncoderDescription aimv2_pair(const Config& config) {
  const Config text = text_part(config);
  EncoderDescription model = clip_like_text(
      text,
      {.hidden_size = 768, .num_heads = 6, .activation = "silu", .epsilon_key = "rms_norm_eps"});
  nn::EncoderOptions& encoder = model.encoder;
  encoder.norm = {.epsilon = encoder.norm.epsilon};
  encoder.final_norm = "rms_norm";
  const bool bias = text.flag("qkv_bias", false), mlp_bias = text.flag("mlp_bias", false);
  for (nn::LayerOptions& layer : encoder.layers) {
    layer.norm = encoder.norm;
    layer.attention_norm = "rms_norm1";
    layer.mlp_norm = "rms_norm2";
    layer.attention_path = "attention";
    layer.mlp_path = "ffn";
    layer.attention().qkv_bias = layer.attention().output_bias = bias;
    nn::MLPOptions& mlp = layer.mlp();
    mlp.gated = true;
    mlp.bias = mlp_bias;
    mlp.up = "up_proj";
    mlp.down = "down_proj";
  }
  model.end_pooling = shared_space(config, end_token(text, encoder));
  text.refuse_unread();
  return model;
}

}  // namespace pippin::models
