// GLM-4.1V and GLM-4.6V (Hugging Face): positions interpolated bicubically, and blocks of patches
// joined by a convolution.
#include <utility>

#include <fmt/format.h>

#include "pippin/array/ops.h"
#include "pippin/models/vision/qwen_tower.h"
#include "pippin/models/vision/tower_description.h"
#include "pippin/nn/layers/layer_carry.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/vision/projector.h"

namespace pippin::models::vision {
namespace {

struct Glm4vTower : QwenTower {
  int64_t merger_features = 0;

  // The prompt has texts between the patches of frames of a video.
  image::VisionPasses passes(const image::ImageInputs& inputs) const {
    return QwenTower::passes(inputs, /*split=*/true);
  }
  array::Array record(const nn::Parameters& parameters, const array::Array& pixels,
                      const image::VisionShape& shape) const;

 private:
  array::Array merge(const nn::Parameters& merger, const array::Array& rows) const;
};

array::Array Glm4vTower::merge(const nn::Parameters& merger, const array::Array& rows) const {
  const nn::NormOptions norm{.kind = nn::NormOptions::Kind::Layer, .epsilon = 1e-5, .bias = true};
  const array::Array projected = nn::Linear(merger.at("proj"), outputs, outputs)(rows);
  const array::Array normed = nn::Norm(merger.at("post_projection_norm"), outputs, norm)(projected);
  nn::MLPOptions mlp;
  mlp.features = outputs;
  mlp.hidden_features = merger_features;
  mlp.activation = tower.layers.front().mlp().activation;
  nn::LayerCarry carry;
  return nn::MLP(merger, mlp)(nn::apply(nn::Activation::Gelu, normed), carry);
}

array::Array Glm4vTower::record(const nn::Parameters& parameters, const array::Array& pixels,
                                const image::VisionShape& shape) const {
  const nn::Parameters at = QwenTower::at(parameters);
  const PatchGrid grid = grid_of(shape);
  const array::Array states =
      nn::PatchTransformer(at, tower)(embedded(at, pixels, grid), grid.grid);
  const nn::PatchEmbeddingOptions downsample{.path = "downsample",
                                             .features = outputs,
                                             .channels = tower.features,
                                             .height = factor(),
                                             .width = factor()};
  const array::Array blocks = convolution_order(frame_rows(states, joined()), joined());
  return merge(at.at("merger"), nn::cut_patch_embedding(at, downsample)(blocks));
}

}  // namespace

VisionDescription glm4v_vision(const Config& config) {
  const Config vision = vision_part(config);
  Glm4vTower model;
  static_cast<QwenTower&>(model) = qwen_tower(
      vision,
      {.hidden_size = 1536,
       .num_layers = 24,
       .num_heads = 12,
       .patch_size = 14,
       .activation = "silu"},
      {.kind = nn::NormOptions::Kind::RMS, .epsilon = vision.number("rms_norm_eps", 1e-5)});
  model.outputs = vision.size("out_hidden_size", 4096);
  model.merger_features = vision.size("intermediate_size", 13696);
  const bool bias = vision.flag("attention_bias", false);
  for (nn::LayerOptions& layer : model.tower.layers) {
    layer.attention().qkv_bias = bias;
    layer.attention().output_bias = false;
    layer.mlp().hidden_features = model.outputs;
  }
  const nn::Grid image = size_pair(vision, "image_size", 336);
  model.tower.first_norm = "post_conv_layernorm";
  model.tower.final_norm = "post_layernorm";
  model.tower.positions = "embeddings.position_embedding.weight";
  model.tower.grid = {image.height / model.patches.height, image.width / model.patches.width};
  model.tower.resizing = {.kind = nn::GridResizing::Kind::Bicubic};
  if (model.tower.grid.count() == 0) {
    vision.invalid("image_size", fmt::format("{}x{} is smaller than a patch of {}", image.height,
                                             image.width, model.patches.height));
  }
  vision.refuse_unread();
  return description_of(std::move(model));
}

}  // namespace pippin::models::vision
