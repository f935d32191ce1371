// Encoders of images next to encoders of texts: CLIP (Radford et al. 2021), MetaCLIP 2, and SigLIP
// (Zhai et al. 2023), whose towers give one vector for an image.
#include <utility>

#include "pippin/array/ops.h"
#include "pippin/models/vision/tile_tower.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/vision/attention_pooling.h"

namespace pippin::models::vision {
namespace {

nn::Parameters vision_model_of(const nn::Parameters& parameters) {
  return parameters.at("vision_model");
}

TileTower one_vector(Tower tower) {
  TileTower model;
  model.tower = std::move(tower);
  model.result = VisionResult::SharedVector;
  model.rows = 1;
  model.runs = TileRuns::Each;
  model.part = vision_model_of;
  model.unused = {"text_projection.", "logit_scale", "logit_bias"};
  return model;
}

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
  vision.require_flag("vision_use_head", true, true);
  vision.refuse_unread();
  const nn::LayerOptions& layer = model.tower.net.layers.front();
  const nn::AttentionPoolingOptions pooling{layer.features, layer.attention().num_heads, layer.norm,
                                            layer.mlp()};
  model.project = [pooling](const nn::Parameters& parameters, const array::Array& states) {
    return nn::attention_pooled(vision_model_of(parameters).at("head"), pooling, states);
  };
  return description_of(std::move(model));
}

}  // namespace pippin::models::vision
