// PaddleOCR-VL (Hugging Face): SigLIP's layers over images of any size, with positions from a table
// and by rotation.
#include <utility>

#include "pippin/models/config/common.h"
#include "pippin/models/vision/patch_inputs.h"
#include "pippin/models/vision/tower_description.h"
#include "pippin/models/vision/vision_config.h"
#include "pippin/nn/vision/grid_rows.h"
#include "pippin/nn/vision/projector.h"

namespace pippin::models::vision {
namespace {

struct PaddleTower {
  nn::PatchEmbeddingOptions patches;
  nn::PatchTransformerOptions tower;
  int64_t factor = 2, width = 0;

  image::VisionPasses passes(const image::ImageInputs& inputs) const {
    return grid_passes(inputs, patch_grid(inputs, patches.size(), factor), factor);
  }
  array::Array record(const nn::Parameters& parameters, const array::Array& pixels,
                      const image::VisionShape& shape) const;
};

array::Array PaddleTower::record(const nn::Parameters& parameters, const array::Array& pixels,
                                 const image::VisionShape& shape) const {
  constexpr std::string_view kTowers[] = {"visual.vision_model", "model.visual.vision_model"};
  constexpr std::string_view kProjectors[] = {"mlp_AR", "model.projector"};
  const nn::Parameters at = part_with(parameters, kTowers, "embeddings.patch_embedding.weight");
  const PatchGrid grid = grid_of(shape);
  const array::Array embedded =
      nn::cut_patch_embedding(at, patches)(patches_of(pixels, grid, patches.size()));
  const array::Array states = nn::PatchTransformer(at, tower)(embedded, grid.grid);
  const nn::Parameters projector = part_with(parameters, kProjectors, "linear_1.weight");
  const nn::NormOptions norm{.kind = nn::NormOptions::Kind::Layer, .epsilon = 1e-5, .bias = true};
  const array::Array normed = nn::Norm(projector.at("pre_norm"), tower.features, norm)(states);
  const int64_t features = tower.features * factor * factor;
  const nn::ProjectorOptions matrices{
      .features = features, .hidden_features = features, .output_features = width, .norm = {}};
  return nn::Projector(projector,
                       matrices)(frame_rows(nn::join_patches(normed, grid.grid, factor), 1));
}

}  // namespace

VisionDescription paddleocr_vl(const Config& config) {
  const Config vision = vision_part(config);
  const nn::VisionTransformerOptions siglip = siglip_like(vision, {.hidden_size = 1152,
                                                                   .intermediate_size = 4304,
                                                                   .num_layers = 27,
                                                                   .num_heads = 16,
                                                                   .image_size = 384,
                                                                   .patch_size = 14})
                                                  .net;
  PaddleTower model;
  model.patches = siglip.patches;
  model.factor = vision.size("spatial_merge_size", 2, 64);
  model.tower = patch_tower(siglip);
  model.tower.resizing = {.kind = nn::GridResizing::Kind::Bilinear, .align_corners = true};
  model.tower.rope = nn::PatchRope::Halves;
  check_rotated(vision, model.tower);
  if (vision.size("temporal_patch_size", 1, 64) != 1) {
    vision.unsupported("temporal_patch_size", "patches of several frames are not supported");
  }
  vision.refuse_unread();
  model.width = text_width(config);
  VisionDescription description = description_of(std::move(model));
  // A head for the whole image, and the positions of another way to batch images.
  for (const char* part : {"vision_model.head.", "vision_model.embeddings.packing_position_"}) {
    description.unused.push_back(std::string("visual.") + part);
    description.unused.push_back(std::string("model.visual.") + part);
  }
  return description;
}

}  // namespace pippin::models::vision
