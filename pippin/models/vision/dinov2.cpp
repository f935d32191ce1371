// DINOv2 (Oquab et al. 2023), with or without registers, and ViT (Dosovitskiy et al. 2021): the
// state of the class token, or a classifier's scores.
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/models/config/common.h"
#include "pippin/models/vision/tiles.h"
#include "pippin/models/vision/vision_config.h"
#include "pippin/models/vision/vision_description.h"
#include "pippin/nn/layers/linear.h"

namespace pippin::models::vision {

Tower vit_like(const Config& config, const TowerDefaults& defaults) {
  Tower tower = siglip_like(config, defaults);
  nn::VisionTransformerOptions& net = tower.net;
  net.patches.path = "embeddings.patch_embeddings.projection";
  net.class_token = "embeddings.cls_token";
  net.class_dims = {1, 1, net.features()};
  net.positions = "embeddings.position_embeddings";
  net.position_axes = {1};
  net.layers_path = "encoder.layer";
  net.final_norm = "layernorm";
  const bool bias = config.flag("qkv_bias", true);
  for (nn::LayerOptions& layer : net.layers) {
    layer.attention_path = "attention";
    nn::AttentionOptions& attention = layer.attention();
    attention.query = "attention.query";
    attention.key = "attention.key";
    attention.value = "attention.value";
    attention.output = "output.dense";
    attention.qkv_bias = bias;
  }
  return tower;
}

Tower dinov2_tower(const Config& config, int64_t registers) {
  Tower tower = vit_like(config, {.intermediate_size = 4 * 768, .activation = "gelu"});
  nn::VisionTransformerOptions& net = tower.net;
  net.resizing = {.kind = nn::GridResizing::Kind::Bicubic, .antialias = registers > 0};
  net.num_registers = registers;
  net.registers = "embeddings.register_tokens";
  const int64_t ratio = config.size("mlp_ratio", 4, 64);
  const bool swiglu = config.flag("use_swiglu_ffn", false);
  for (nn::LayerOptions& layer : net.layers) {
    layer.attention_norm = "norm1";
    layer.mlp_norm = "norm2";
    layer.attention_added.scale = "layer_scale1.lambda1";
    layer.mlp_added.scale = "layer_scale2.lambda1";
    nn::MLPOptions& mlp = layer.mlp();
    mlp.hidden_features = ratio * net.features();
    if (!swiglu) continue;
    // Two thirds, up to a multiple of 8.
    mlp.hidden_features = (mlp.hidden_features * 2 / 3 + 7) / 8 * 8;
    mlp.activation = nn::Activation::Silu;
    mlp.gated = mlp.fused = true;
    mlp.gate = "weights_in";
    mlp.down = "weights_out";
  }
  return tower;
}

namespace {

constexpr int64_t kMostRegisters = 1 << 10;

struct ImageEncoder {
  Tower tower;
  std::string base;                    // of the model's names in files with a classifier
  bool any_size = false;               // positions are interpolated for other sizes
  bool means_too = false;              // the classifier takes the mean of the patches, too
  std::optional<VisionLabels> labels;  // of a classifier
  std::vector<std::string> unused;

  image::VisionPasses passes(const image::ImageInputs& inputs) const;
  array::Array record(const nn::Parameters& parameters, const array::Array& pixels) const;
};

image::VisionPasses ImageEncoder::passes(const image::ImageInputs& inputs) const {
  const nn::PatchEmbeddingOptions& patches = tower.net.patches;
  if (!any_size) {
    const Tiles tiles = tiles_of(inputs, patches.channels, tower.image.height, tower.image.width);
    return tile_passes(tiles, tower.net.grid.count(), 1, TileRuns::Each);
  }
  const Tiles tiles = tiles_of(inputs);
  const nn::Grid grid{tiles.height / patches.height, tiles.width / patches.width};
  if (tiles.channels != patches.channels || grid.count() == 0) {
    fail(ErrorCode::InvalidArgument,
         "images of {} channels and {}x{} pixels: the model takes {} channels and patches of {}x{}",
         tiles.channels, tiles.height, tiles.width, patches.channels, patches.height,
         patches.width);
  }
  return tile_passes(tiles, grid.count(), 1, TileRuns::Each);
}

array::Array ImageEncoder::record(const nn::Parameters& parameters,
                                  const array::Array& pixels) const {
  const std::string_view bases[] = {base, ""};
  const nn::Parameters at =
      part_with(parameters, bases, "embeddings.patch_embeddings.projection.weight");
  const array::Array states = nn::VisionTransformer(at, tower.net)(pixels);
  array::Array taken = array::slice_axis(states, 1, 0, 1);
  if (!labels) return taken;
  const int64_t features = tower.net.features();
  if (means_too) {
    const int64_t others = tower.net.num_classes();
    const array::Array patches = array::slice_axis(states, 1, others, states.dim(1));
    taken = array::concat({taken, array::reduce_mean(patches, {1}, /*keep_dims=*/true)}, 2);
  }
  return nn::Linear(parameters.at("classifier"), means_too ? 2 * features : features,
                    std::ssize(labels->names), /*bias=*/true)(taken);
}

VisionDescription described_encoder(ImageEncoder model) {
  const auto shared = std::make_shared<const ImageEncoder>(std::move(model));
  VisionDescription description;
  description.result = shared->labels ? VisionResult::Scores : VisionResult::Vector;
  if (shared->labels) description.labels = *shared->labels;
  description.unused = shared->unused;
  description.passes = [shared](const auto& inputs) { return shared->passes(inputs); };
  description.record = [shared](const auto& parameters, const auto& pixels, const auto&) {
    return shared->record(parameters, pixels);
  };
  return description;
}

VisionDescription dinov2_like(const Config& config, std::string base, std::string_view model_class,
                              std::string_view classifier, int64_t registers = 0) {
  ImageEncoder model;
  model.tower = dinov2_tower(config, registers);
  model.base = std::move(base);
  model.any_size = true;
  config.require_flag("apply_layernorm", true, true);
  model.means_too = true;
  model.labels = read_labels(config, model_class, classifier);
  model.unused = {"embeddings.mask_token", model.base + ".embeddings.mask_token"};
  return described_encoder(std::move(model));
}

}  // namespace

VisionDescription dinov2(const Config& config) {
  return dinov2_like(config, "dinov2", "Dinov2Model", "Dinov2ForImageClassification");
}

VisionDescription dinov2_with_registers(const Config& config) {
  return dinov2_like(config, "dinov2_with_registers", "Dinov2WithRegistersModel",
                     "Dinov2WithRegistersForImageClassification",
                     config.size("num_register_tokens", 4, kMostRegisters));
}

VisionDescription vit(const Config& config) {
  ImageEncoder model;
  model.tower = vit_like(config, {.activation = "gelu", .epsilon = 1e-12});
  model.base = "vit";
  for (nn::LayerOptions& layer : model.tower.net.layers) {
    layer.attention_norm = "layernorm_before";
    layer.mlp_norm = "layernorm_after";
    layer.mlp_path = "";
    layer.mlp().up = "intermediate.dense";
    layer.mlp().down = "output.dense";
  }
  model.labels = read_labels(config, "ViTModel", "ViTForImageClassification");
  // A pooler, which takes the state that is given here.
  model.unused = {"pooler.", "vit.pooler.", "embeddings.mask_token", "vit.embeddings.mask_token"};
  return described_encoder(std::move(model));
}

}  // namespace pippin::models::vision
