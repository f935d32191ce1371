#include "pippin/models/vision/qwen_tower.h"

#include "pippin/models/config/common.h"

namespace pippin::models::vision {

nn::Parameters QwenTower::at(const nn::Parameters& parameters) {
  constexpr std::string_view kBases[] = {"visual", "model.visual", "thinker.visual"};
  return part_with(parameters, kBases, "patch_embed.proj.weight");
}

image::VisionPasses QwenTower::passes(const image::ImageInputs& inputs, bool split) const {
  return grid_passes(inputs, patch_grid(inputs, patches.size(), factor()), factor(), split);
}

array::Array QwenTower::embedded(const nn::Parameters& at, const array::Array& pixels,
                                 const PatchGrid& grid) const {
  return nn::cut_patch_embedding(at, patches)(patches_of(pixels, grid, patches.size()));
}

QwenTower qwen_tower(const Config& vision, const QwenDefaults& defaults,
                     const nn::NormOptions& norm) {
  QwenTower model;
  nn::PatchEmbeddingOptions& patches = model.patches;
  patches.path = "patch_embed.proj";
  patches.features = vision.size(defaults.width_key, defaults.hidden_size);
  patches.channels = vision.size("in_channels", 3, 16);
  patches.height = patches.width = vision.size("patch_size", defaults.patch_size, kMostPixels);
  patches.frames = vision.size("temporal_patch_size", 2, 64);

  nn::PatchTransformerOptions& tower = model.tower;
  tower.features = patches.features;
  tower.block = vision.size("spatial_merge_size", 2, 64);
  tower.norm = norm;
  tower.rope = nn::PatchRope::Halves;
  tower.layers_path = "blocks";

  nn::LayerOptions layer;
  layer.features = tower.features;
  layer.norm = norm;
  layer.attention_norm = "norm1";
  layer.mlp_norm = "norm2";
  layer.attention_path = "attn";
  nn::AttentionOptions& attention = layer.attention();
  attention.features = tower.features;
  attention.num_heads = vision.size("num_heads", defaults.num_heads, kMaxHeads);
  vision.require_multiple(defaults.width_key, tower.features, "num_heads", attention.num_heads);
  attention.num_kv_heads = attention.num_heads;
  attention.head_dim = tower.features / attention.num_heads;
  attention.qkv_bias = attention.output_bias = true;
  if (!vision.flag(kSeparateQkv, false)) {
    attention.layout = nn::QkvLayout::Blocks;
    attention.qkv = "qkv";
  }
  attention.output = "proj";
  nn::MLPOptions& mlp = layer.mlp();
  mlp.features = tower.features;
  mlp.activation = vision.activation("hidden_act", defaults.activation);
  const int64_t count = vision.size("depth", defaults.num_layers, kMaxLayers);
  tower.layers.assign(static_cast<size_t>(count), layer);
  check_rotated(vision, tower);
  return model;
}

}  // namespace pippin::models::vision
