// LLaVA 1.5 (Liu et al. 2023): the states of one layer of CLIP's or SigLIP's tower, and two
// matrices.
#include "pippin/models/vision/llava.h"

#include <memory>

#include <fmt/format.h>

#include "pippin/array/ops.h"
#include "pippin/models/vision/tiles.h"
#include "pippin/models/vision/vision_description.h"

namespace pippin::models::vision {

int64_t LlavaTower::rows() const {
  return tower.net.grid.count() + tower.net.num_classes() - (drops_first ? 1 : 0);
}

array::Array LlavaTower::record(const nn::Parameters& parameters,
                                const array::Array& pixels) const {
  array::Array states = nn::VisionTransformer(vision_tower_of(parameters), tower.net)(pixels);
  if (drops_first) states = array::slice_axis(states, 1, 1, states.dim(1));
  return nn::Projector(projector_of(parameters, projector.first + ".weight"), projector)(states);
}

LlavaTower read_llava(const Config& config, const LlavaDefaults& defaults) {
  LlavaTower model;
  model.tower = tower_of(config);
  keep_feature_layers(config, defaults.feature_layer, model.tower, model.unused);
  // SigLIP's pooling, which some files have.
  add_unused("head", model.unused);
  const std::string strategy = config.text("vision_feature_select_strategy", defaults.strategy);
  if (strategy != "default" && strategy != "full") {
    config.unsupported("vision_feature_select_strategy",
                       fmt::format("'{}' is not supported (supported: default, full)", strategy));
  }
  model.drops_first = strategy == "default";
  if (model.rows() < 1) {
    config.invalid("vision_feature_select_strategy", "'default' leaves no state of the tower");
  }
  model.projector.features = model.tower.net.features();
  model.projector.output_features = model.projector.hidden_features = text_width(config);
  model.projector.bias = config.flag("multimodal_projector_bias", true);
  model.projector.activation = config.activation("projector_hidden_act", "gelu");
  return model;
}

VisionDescription llava(const Config& config) {
  if (vision_part(config).text("model_type", "") == "pixtral") return pixtral(config);
  const auto model = std::make_shared<const LlavaTower>(read_llava(config));
  VisionDescription description;
  description.unused = model->unused;
  description.passes = [model](const image::ImageInputs& inputs) {
    const Tower& tower = model->tower;
    const Tiles tiles =
        tiles_of(inputs, tower.net.patches.channels, tower.image.height, tower.image.width);
    return tile_passes(tiles, tower.net.grid.count(), model->rows(), TileRuns::All);
  };
  description.record = [model](const auto& parameters, const auto& pixels, const auto&) {
    return model->record(parameters, pixels);
  };
  return description;
}

}  // namespace pippin::models::vision
