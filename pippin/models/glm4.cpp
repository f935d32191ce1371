// GLM-4-0414 (Zhipu): GLM with norms after attention and feed-forward too.
#include "pippin/models/architectures.h"
#include "pippin/models/common.h"

namespace pippin::models {

nn::DecoderOptions glm4(const Config& config) {
  nn::DecoderOptions model = glm(config);
  for (nn::LayerOptions& layer : model.layers) {
    layer.attention_post_norm = "post_self_attn_layernorm";
    layer.mlp_post_norm = "post_mlp_layernorm";
  }
  return model;
}

}  // namespace pippin::models
