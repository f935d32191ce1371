// Encoders of images next to encoders of texts: CLIP (Radford et al. 2021), MetaCLIP 2, SigLIP
// (Zhai et al. 2023) and SigLIP 2 for images of any size (Tschannen et al. 2025), whose towers give
// one vector for an image.
#include <string>
#include <utility>
#include <vector>

#include "pippin/array/ops.h"
#include "pippin/models/vision/naflex.h"
#include "pippin/models/vision/tile_tower.h"
#include "pippin/models/vision/tower_description.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/vision/attention_pooling.h"

namespace pippin::models::vision {
namespace {

nn::Parameters vision_model_of(const nn::Parameters& parameters) {
  return parameters.at("vision_model");
}

std::vector<std::string> parts_of_pairs() {
  return {"text_projection.", "logit_scale", "logit_bias"};
}

TileTower one_vector(Tower tower) {
  TileTower model;
  model.tower = std::move(tower);
  model.result = VisionResult::SharedVector;
  model.rows = 1;
  model.runs = TileRuns::Each;
  model.part = vision_model_of;
  model.unused = parts_of_pairs();
  return model;
}

// SigLIP's, with the sizes of the tower's layers.
nn::AttentionPoolingOptions pooling_like(const Config& vision, const nn::LayerOptions& layer) {
  vision.require_flag("vision_use_head", true, true);
  vision.refuse_unread();
  return {layer.features, layer.attention().num_heads, layer.norm, layer.mlp()};
}

struct SizedPoolingTower {
  NaflexTower net;
  nn::AttentionPoolingOptions pooling;

  image::VisionPasses passes(const image::ImageInputs& inputs) const {
    image::VisionPasses passes = net.passes(inputs, 1);
    int64_t row = 0;
    for (image::VisionRun& run : passes.runs) run = run_of(row++, 1);
    return passes;
  }
  array::Array record(const nn::Parameters& parameters, const array::Array& pixels,
                      const image::VisionShape& shape) const {
    const nn::Parameters at = vision_model_of(parameters);
    return nn::attention_pooled(at.at("head"), pooling, net.states(at, pixels, shape));
  }
};

}  // namespace

VisionDescription clip(const Config& config) {
  const Config vision = vision_part(config);
  TileTower model = one_vector(clip_like(vision));
  vision.ignore({"projection_dim"});
  vision.refuse_unread();
  model.keeps_class = true;
  const int64_t width = config.size("projection_dim", 512);
  model.project = [width](const nn::Parameters& parameters, const array::Array& states) {
    const array::Array first = array::slice_axis(states, 1, 0, 1);
    return nn::Linear(parameters.at("visual_projection"), states.dim(2).constant(), width)(first);
  };
  return description_of(std::move(model));
}

VisionDescription siglip(const Config& config) {
  const Config vision = vision_part(config);
  TileTower model = one_vector(siglip_like(vision));
  const nn::AttentionPoolingOptions pooling = pooling_like(vision, model.tower.net.layers.front());
  model.project = [pooling](const nn::Parameters& parameters, const array::Array& states) {
    return nn::attention_pooled(vision_model_of(parameters).at("head"), pooling, states);
  };
  return description_of(std::move(model));
}

VisionDescription siglip2(const Config& config) {
  const Config vision = vision_part(config);
  SizedPoolingTower model;
  model.net = naflex_tower(vision);
  model.pooling = pooling_like(vision, model.net.tower.layers.front());
  VisionDescription description = description_of(std::move(model));
  description.result = VisionResult::SharedVector;
  description.unused = parts_of_pairs();
  return description;
}

}  // namespace pippin::models::vision
