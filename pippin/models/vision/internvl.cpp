// InternVL (Shanghai AI Laboratory) in Hugging Face's form: a tower with scaled layers,
// neighbouring patches joined, and two matrices after a norm.
#include <utility>

#include <fmt/format.h>

#include "pippin/models/vision/tile_tower.h"
#include "pippin/nn/vision/grid_rows.h"
#include "pippin/nn/vision/projector.h"

namespace pippin::models::vision {
namespace {

nn::NormOptions read_norm(const Config& vision, const nn::NormOptions& norm) {
  const std::string type = vision.text("norm_type", "layer_norm");
  if (type == "layer_norm") return norm;
  if (type != "rms_norm") {
    vision.unsupported("norm_type", fmt::format("'{}' is not supported (supported: layer_norm, "
                                                "rms_norm)",
                                                type));
  }
  return {.epsilon = norm.epsilon};
}

Tower read_internvl_tower(const Config& config) {
  const Config vision = vision_part(config);
  Tower tower = siglip_like(vision, {.hidden_size = 1024,
                                     .intermediate_size = 4096,
                                     .num_layers = 24,
                                     .num_heads = 16,
                                     .image_size = 448,
                                     .patch_size = 14,
                                     .activation = "gelu"});
  nn::VisionTransformerOptions& net = tower.net;
  net.patches.path = "embeddings.patch_embeddings.projection";
  net.class_token = "embeddings.cls_token";
  net.class_dims = {1, 1, net.features()};
  net.positions =
      vision.flag("use_absolute_position_embeddings", true) ? "embeddings.position_embeddings" : "";
  net.position_axes = {1};
  net.layers_path = "encoder.layer";
  net.final_norm = vision.flag("use_mean_pooling", true) ? "" : "layernorm";
  constexpr double kQkEpsilon = 1e-6;
  for (nn::LayerOptions& layer : net.layers) {
    layer.norm = read_norm(vision, net.norm);
    layer.attention_norm = "layernorm_before";
    layer.mlp_norm = "layernorm_after";
    layer.attention_path = "attention";
    layer.attention_added.scale = "lambda_1";
    layer.mlp_added.scale = "lambda_2";
    nn::AttentionOptions& attention = layer.attention();
    attention.output = "projection_layer";
    attention.qkv_bias = vision.flag("attention_bias", false);
    if (vision.flag("use_qk_norm", false)) {
      attention.qk_norm = {.place = nn::QkNorm::Place::Projection, .norm = {.epsilon = kQkEpsilon}};
    }
  }
  vision.refuse_unread();
  return tower;
}

}  // namespace

VisionDescription internvl(const Config& config) {
  TileTower model;
  model.tower = read_internvl_tower(config);
  add_unused("embeddings.mask_token", model.unused);
  const auto layer = config.find("vision_feature_layer");
  if (layer && layer->as_int() != -1) {
    config.unsupported("vision_feature_layer", "another layer than -1 is not supported");
  }
  const std::string strategy = config.text("vision_feature_select_strategy", "default");
  if (strategy != "default") {
    config.unsupported("vision_feature_select_strategy",
                       fmt::format("'{}' is not supported (supported: default)", strategy));
  }
  const int64_t side = inverse_ratio(config, "downsample_ratio", 0.5);
  const nn::Grid grid = model.tower.net.grid;
  model.runs = TileRuns::Each;
  model.rows = joined_rows(config, "downsample_ratio", grid, side);
  nn::ProjectorOptions projector;
  projector.features = side * side * model.tower.net.features();
  projector.norm = {"layer_norm",
                    {.kind = nn::NormOptions::Kind::Layer, .epsilon = 1e-5, .bias = true}};
  projector.hidden_features = projector.output_features = text_width(config);
  projector.activation = config.activation("projector_hidden_act", "gelu");
  model.part = [](const nn::Parameters& parameters) {
    return vision_tower_of(parameters, "embeddings.patch_embeddings.projection.weight");
  };
  model.project = [=](const nn::Parameters& parameters, const array::Array& states) {
    return nn::Projector(projector_of(parameters, projector.first + ".weight"),
                         projector)(nn::join_patches(states, grid, side));
  };
  return description_of(std::move(model));
}

}  // namespace pippin::models::vision
