// Idefics3 and SmolVLM (Hugging Face): SigLIP's tower over each tile and the whole image,
// neighbouring patches joined, and one matrix.
#include <algorithm>
#include <memory>
#include <string_view>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/models/vision/tiles.h"
#include "pippin/models/vision/vision_config.h"
#include "pippin/models/vision/vision_description.h"
#include "pippin/nn/vision/grid_rows.h"
#include "pippin/nn/vision/projector.h"

namespace pippin::models::vision {
namespace {

struct Idefics3Tower {
  nn::VisionTransformerOptions tower;
  int64_t factor = 2, width = 0;

  // Sides of a tile in pixels are multiples of it.
  int64_t side() const { return tower.patches.height * factor; }
  image::VisionPasses passes(const image::ImageInputs& inputs) const;
  array::Array record(const nn::Parameters& parameters, const array::Array& pixels) const;
};

image::VisionPasses Idefics3Tower::passes(const image::ImageInputs& inputs) const {
  const Tiles tiles = tiles_of(inputs);
  const nn::Grid grid{tiles.height / tower.patches.height, tiles.width / tower.patches.width};
  if (tiles.channels != tower.patches.channels || tiles.height != tiles.width ||
      tiles.height % side() != 0) {
    fail(ErrorCode::InvalidArgument,
         "tiles of {} channels and {}x{} pixels: the model takes {} channels and squares of a "
         "multiple of {} pixels",
         tiles.channels, tiles.height, tiles.width, tower.patches.channels, side());
  }
  const auto mask = inputs.sizes.find("pixel_attention_mask");
  if (mask != inputs.sizes.end() &&
      std::count(mask->second.values.begin(), mask->second.values.end(), 0) > 0) {
    fail(ErrorCode::Unsupported, "pixel_attention_mask: tiles with padding are not supported");
  }
  return tile_passes(tiles, grid.count(), grid.count() / (factor * factor), TileRuns::Each);
}

array::Array Idefics3Tower::record(const nn::Parameters& parameters,
                                   const array::Array& pixels) const {
  constexpr std::string_view kTowers[] = {"model.vision_model", "vision_model"};
  constexpr std::string_view kConnectors[] = {"model.connector", "connector"};
  const nn::Parameters at = part_with(parameters, kTowers, "embeddings.patch_embedding.weight");
  const array::Array states = nn::VisionTransformer(at, tower)(pixels);
  const nn::Grid grid{pixels.dim(2).constant() / tower.patches.height,
                      pixels.dim(3).constant() / tower.patches.width};
  const array::Array joined = nn::join_patches(states, grid, factor);
  const nn::Parameters connector =
      part_with(parameters, kConnectors, "modality_projection.proj.weight");
  return nn::projection_of(connector.at("modality_projection.proj"), joined.dim(2).constant(),
                           width, /*bias=*/false)(joined);
}

}  // namespace

VisionDescription idefics3(const Config& config) {
  const Config vision = vision_part(config);
  Idefics3Tower model;
  model.tower = siglip_like(vision, {.hidden_size = 1152, .num_heads = 16, .patch_size = 32}).net;
  vision.refuse_unread();
  model.factor = config.size("scale_factor", 2, 64);
  model.width = text_width(config);
  if (model.tower.patches.height != model.tower.patches.width) {
    vision.unsupported("patch_size", "patches that are not squares are not supported");
  }
  const auto shared = std::make_shared<const Idefics3Tower>(std::move(model));
  VisionDescription description;
  description.passes = [shared](const auto& inputs) { return shared->passes(inputs); };
  description.record = [shared](const auto& parameters, const auto& pixels, const auto&) {
    return shared->record(parameters, pixels);
  };
  return description;
}

}  // namespace pippin::models::vision
