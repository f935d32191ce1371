// The encoder of T5Gemma (Zhang et al. 2025): Gemma 2 with bidirectional attention, to the whole
// text or to a window on each side.
#include "pippin/models/architectures.h"
#include "pippin/models/config/common.h"
#include "pippin/models/encoders.h"

namespace pippin::models {

EncoderDescription t5gemma_encoder(const Config& config) {
  const auto own = config.find("encoder");
  if (!own) config.invalid("encoder", "missing");
  config.ignore({"is_encoder_decoder", "decoder"});
  const Config sizes(*own);
  sizes.ignore({"is_encoder_decoder"});
  EncoderDescription model;
  model.encoder = nn::as_encoder(gemma2(sizes));
  sizes.refuse_unread();
  nn::EncoderOptions& encoder = model.encoder;
  encoder.bases = {"model.encoder", "encoder", ""};
  encoder.embedding = "embed_tokens";
  encoder.layers_path = "layers";
  encoder.final_norm = "norm";
  encoder.causal = false;
  for (nn::LayerOptions& layer : encoder.layers) {
    layer.attention_norm = "pre_self_attn_layernorm";
    layer.attention_post_norm = "post_self_attn_layernorm";
    layer.mlp_norm = "pre_feedforward_layernorm";
    layer.mlp_post_norm = "post_feedforward_layernorm";
  }
  return model;
}

}  // namespace pippin::models
