// LFM2-VL (Hugging Face): SigLIP 2's tower for images of any size (NaFlex) over each tile and the
// whole image, and neighbouring patches joined.
#include <utility>

#include "pippin/models/vision/naflex.h"
#include "pippin/models/vision/patch_inputs.h"
#include "pippin/models/vision/tower_description.h"
#include "pippin/models/vision/vision_config.h"
#include "pippin/nn/vision/grid_rows.h"
#include "pippin/nn/vision/projector.h"

namespace pippin::models::vision {
namespace {

struct Lfm2Tower {
  NaflexTower net;
  nn::ProjectorOptions projector;
  int64_t factor = 2;

  image::VisionPasses passes(const image::ImageInputs& inputs) const {
    return net.passes(inputs, factor);
  }
  array::Array record(const nn::Parameters& parameters, const array::Array& pixels,
                      const image::VisionShape& shape) const {
    const array::Array states = net.states(vision_tower_of(parameters), pixels, shape);
    return nn::Projector(projector_of(parameters, "linear_1.weight"),
                         projector)(nn::join_patches(states, grid_of(shape).grid, factor));
  }
};

}  // namespace

VisionDescription lfm2_vl(const Config& config) {
  const Config vision = vision_part(config);
  Lfm2Tower model;
  model.net = naflex_tower(vision);
  vision.refuse_unread();
  const auto layer = config.find("vision_feature_layer");
  if (layer && layer->as_int() != -1) {
    config.unsupported("vision_feature_layer", "layers before the last one are not supported");
  }
  model.factor = config.size("downsample_factor", 2, 64);
  model.projector = {.features = model.net.tower.features * model.factor * model.factor,
                     .hidden_features = config.size("projector_hidden_size", 2560),
                     .output_features = text_width(config),
                     .norm = {},
                     .bias = config.flag("projector_bias", true),
                     .activation = config.activation("projector_hidden_act", "gelu")};
  if (config.flag("projector_use_layernorm", true)) {
    model.projector.norm = {"layer_norm",
                            {.kind = nn::NormOptions::Kind::Layer, .epsilon = 1e-5, .bias = true}};
  }
  VisionDescription description = description_of(std::move(model));
  add_unused("head", description.unused);
  return description;
}

}  // namespace pippin::models::vision
