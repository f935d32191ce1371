// Keys that configurations of vision towers share, and the names of their parts in checkpoints.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/models/config/config.h"
#include "pippin/models/vision/vision_description.h"
#include "pippin/nn/vision/vision_transformer.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::models::vision {

// The most pixels of an image's side.
inline constexpr int64_t kMostPixels = 1 << 16;

// The defaults of a tower's configuration class for absent keys.
struct TowerDefaults {
  int64_t hidden_size = 768, intermediate_size = 3072;
  int64_t num_layers = 12, num_heads = 12;
  int64_t image_size = 224, patch_size = 16;
  std::string_view activation = "gelu_pytorch_tanh";
  std::string_view epsilon_key = "layer_norm_eps";
  double epsilon = 1e-6;
};

struct Tower {
  nn::VisionTransformerOptions net;
  nn::Grid image;  // its size in pixels
};

// vision_config; an absent one is empty.
Config vision_part(const Config& config);
// The width of the language model's embeddings; 0 if the configuration does not say it.
int64_t text_width(const Config& config);
// image_size, patch_size: a number, or {height, width}.
nn::Grid size_pair(const Config& config, std::string_view key, int64_t fallback);

// A list of sizes from 1 to `most`.
std::vector<int64_t> size_list(const Config& config, std::string_view key,
                               std::vector<int64_t> fallback, int64_t most);

// The labels of the class `classifier`, by id2label or num_labels; nothing for `model_class`, which
// the configuration of a bare model names. Throws Unsupported for other classes.
std::optional<VisionLabels> read_labels(const Config& config, std::string_view model_class,
                                        std::string_view classifier);

// SigLIP's tower with these sizes, without a head; the caller changes the rest. Throws InvalidFile
// for sizes that do not fit each other.
Tower siglip_like(const Config& vision, const TowerDefaults& defaults = {});
// CLIP's.
Tower clip_like(const Config& vision);
// ViT's (dinov2.cpp), as its configuration has it, with the names of Hugging Face's class.
Tower vit_like(const Config& config, const TowerDefaults& defaults);
// DINOv2's (dinov2.cpp).
Tower dinov2_tower(const Config& config, int64_t registers);
// AIMv2's (aimv2.cpp), which Ovis 2 has too, with SigLIP's names of patches.
Tower aimv2_like(const Config& vision);
// The tower by vision_config's model_type: CLIP's or SigLIP's. Throws Unsupported for others.
Tower tower_of(const Config& config);

// Keeps the layers whose states vision_feature_layer asks for: without the norm after them, and
// without later layers, whose names are added to `unused`. Throws Unsupported for several layers,
// InvalidFile for one out of range.
void keep_feature_layers(const Config& config, int64_t fallback, Tower& tower,
                         std::vector<std::string>& unused);
// The name of a part of the tower, with all the beginnings that vision_tower_of() knows.
void add_unused(std::string_view part, std::vector<std::string>& unused);

// The part of a checkpoint below the first of `bases` that has `tensor`, else below the first one.
nn::Parameters part_with(const nn::Parameters& parameters, std::span<const std::string_view> bases,
                         std::string_view tensor);
// The tower of the models whose class calls it vision_tower.
nn::Parameters vision_tower_of(const nn::Parameters& parameters,
                               std::string_view tensor = "embeddings.patch_embedding.weight");
// multi_modal_projector, where `tensor` is in it.
nn::Parameters projector_of(const nn::Parameters& parameters, std::string_view tensor);

}  // namespace pippin::models::vision
