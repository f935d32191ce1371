// AIMv2 (Fini et al. 2024): a ViT with RMS norms and gated feed-forwards, whose patches one learned
// query attends to.
#include <utility>

#include "pippin/array/ops.h"
#include "pippin/models/vision/tile_tower.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/vision/attention_pooling.h"

namespace pippin::models::vision {

Tower aimv2_like(const Config& vision) {
  Tower tower = siglip_like(vision, {.hidden_size = 1024,
                                     .intermediate_size = 2816,
                                     .num_layers = 24,
                                     .num_heads = 8,
                                     .patch_size = 14,
                                     .activation = "silu",
                                     .epsilon_key = "rms_norm_eps",
                                     .epsilon = 1e-5});
  nn::VisionTransformerOptions& net = tower.net;
  net.norm = {.epsilon = net.norm.epsilon};
  net.patch_norm = "embeddings.rms_norm";
  net.final_norm = "rms_norm";
  const bool bias = vision.flag("qkv_bias", false), mlp_bias = vision.flag("mlp_bias", false);
  for (nn::LayerOptions& layer : net.layers) {
    layer.norm = net.norm;
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
  return tower;
}

namespace {

// `width`: of the projection to the space of texts; 0: none.
VisionDescription aimv2_pooled(const Config& vision, const std::string& base, int64_t width) {
  TileTower model;
  model.tower = aimv2_like(vision);
  model.tower.net.patches.path = "embeddings.patch_embed";
  vision.require_flag("use_head", true, true);
  vision.require_flag("is_native", false, false);
  vision.refuse_unread();
  model.result = width > 0 ? VisionResult::SharedVector : VisionResult::Vector;
  model.rows = 1;
  model.runs = TileRuns::Each;
  model.unused = {"text_projection.", "logit_scale"};
  model.part = [base](const nn::Parameters& parameters) { return parameters.at(base); };
  const nn::AttentionOptions& attention = model.tower.net.layers.front().attention();
  const nn::TokenPoolingOptions pooling{attention.features, attention.num_heads,
                                        attention.qkv_bias};
  model.project = [=](const nn::Parameters& parameters, const array::Array& states) {
    array::Array pooled = nn::token_pooled(parameters.at(base).at("head"), pooling, states);
    if (width == 0) return pooled;
    return nn::Linear(parameters.at("visual_projection"), pooling.features, width)(pooled);
  };
  return description_of(std::move(model));
}

}  // namespace

VisionDescription aimv2_vision_model(const Config& config) {
  return aimv2_pooled(config, "", 0);
}

VisionDescription aimv2(const Config& config) {
  VisionDescription description =
      aimv2_pooled(vision_part(config), "vision_model", config.size("projection_dim", 512));
  description.most_scale = config.number("max_logit_scale", 100.0);
  return description;
}

}  // namespace pippin::models::vision
