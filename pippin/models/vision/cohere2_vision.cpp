// Aya Vision and Command A Vision (Cohere): SigLIP's tower, neighbouring patches joined, and a
// gated network.
#include <utility>

#include "pippin/models/vision/tile_tower.h"
#include "pippin/nn/vision/grid_rows.h"
#include "pippin/nn/vision/projector.h"

namespace pippin::models::vision {
namespace {

// The network takes `factor` x `factor` patches.
VisionDescription gated_projection(const Config& config, TileTower model,
                                   nn::ProjectorOptions projector) {
  const nn::Grid grid = model.tower.net.grid;
  const int64_t factor = config.size("downsample_factor", 2, 64);
  model.runs = TileRuns::Each;
  model.rows = joined_rows(config, "downsample_factor", grid, factor);
  add_unused("head", model.unused);
  projector.features = factor * factor * model.tower.net.features();
  projector.output_features = text_width(config);
  projector.activation = nn::Activation::Silu;
  projector.gated = true;
  if (projector.hidden_features % 2 != 0) {
    config.invalid("alignment_intermediate_size", "an odd number: it is that of two halves");
  }
  model.project = [=](const nn::Parameters& parameters, const array::Array& states) {
    return nn::Projector(projector_of(parameters, projector.first + ".weight"),
                         projector)(nn::join_patches(states, grid, factor));
  };
  return description_of(std::move(model));
}

}  // namespace

VisionDescription aya_vision(const Config& config) {
  TileTower model;
  model.tower = tower_of(config);
  keep_feature_layers(config, -1, model.tower, model.unused);
  const std::string strategy = config.text("vision_feature_select_strategy", "full");
  if (strategy != "full") {
    config.unsupported("vision_feature_select_strategy",
                       "another value than 'full' is not supported");
  }
  nn::ProjectorOptions projector;
  projector.norm = {"layernorm",
                    {.kind = nn::NormOptions::Kind::Layer,
                     .epsilon = config.number("adapter_layer_norm_eps", 1e-6),
                     .bias = true}};
  projector.hidden_features = config.size("alignment_intermediate_size", text_width(config));
  return gated_projection(config, std::move(model), projector);
}

VisionDescription cohere2_vision(const Config& config) {
  TileTower model;
  model.tower = tower_of(config);
  nn::ProjectorOptions projector;
  projector.hidden_features = config.size("alignment_intermediate_size", 36864);
  return gated_projection(config, std::move(model), projector);
}

}  // namespace pippin::models::vision
