// CLIP's text model (Radford et al. 2021), alone: causal attention. The state of the end token is
// the text's embedding, projected in the class CLIPTextModelWithProjection.
#include <string>

#include "pippin/models/config/common.h"
#include "pippin/models/encoders.h"

namespace pippin::models {

EncoderDescription clip_text(const Config& config) {
  EncoderDescription model;
  nn::EncoderOptions& encoder = model.encoder;
  encoder.bases = {"text_model", ""};
  encoder.vocab_size = config.size("vocab_size", 49408);
  encoder.hidden_size = config.size("hidden_size", 512);
  encoder.context = config.size("max_position_embeddings", 77, kMaxContext);
  encoder.embedding = "embeddings.token_embedding";
  encoder.positions =
      nn::LearnedPositions{.path = "embeddings.position_embedding", .rows = encoder.context};
  encoder.norm = {.kind = nn::NormOptions::Kind::Layer,
                  .epsilon = config.number("layer_norm_eps", 1e-5),
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
  attention.num_heads = attention.num_kv_heads = config.size("num_attention_heads", 8, kMaxHeads);
  config.require_multiple("hidden_size", encoder.hidden_size, "num_attention_heads",
                          attention.num_heads);
  attention.head_dim = encoder.hidden_size / attention.num_heads;
  attention.qkv_bias = attention.output_bias = true;
  attention.output = "out_proj";
  nn::MLPOptions& mlp = layer.mlp();
  mlp.features = encoder.hidden_size;
  mlp.hidden_features = config.size("intermediate_size", 2048);
  mlp.activation = config.activation("hidden_act", "quick_gelu");
  mlp.gated = false;
  mlp.bias = true;
  mlp.up = "fc1";
  mlp.down = "fc2";
  encoder.layers.assign(static_cast<size_t>(config.size("num_hidden_layers", 12, kMaxLayers)),
                        layer);
  // Older configurations have 2, which is not the end token: it is then the largest id.
  const int64_t end = config.json().get_int_or("eos_token_id", 49407);
  if (end < 0 || end >= encoder.vocab_size) config.invalid("eos_token_id", "not a token");
  model.end_pooling =
      EncoderDescription::EndPooling{.token = end == 2 ? -1 : static_cast<int32_t>(end),
                                     .projection = "text_projection",
                                     .size = config.size("projection_dim", 512)};
  return model;
}

}  // namespace pippin::models
