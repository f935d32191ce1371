// GOT-OCR 2 (Wei et al. 2024): Segment Anything's encoder, convolutions that halve the grid twice,
// and one matrix.
#include <memory>

#include "pippin/models/vision/sam.h"
#include "pippin/models/vision/vision_config.h"
#include "pippin/models/vision/vision_description.h"
#include "pippin/nn/vision/grid_rows.h"
#include "pippin/nn/vision/projector.h"

namespace pippin::models::vision {

VisionDescription got_ocr2(const Config& config) {
  const Config vision = vision_part(config);
  const auto tower = std::make_shared<const SamTower>(read_sam(vision));
  vision.refuse_unread();
  const int64_t width = text_width(config);
  VisionDescription description;
  description.passes = [tower](const image::ImageInputs& inputs) {
    const Tiles tiles = tiles_of(inputs);
    const nn::Grid grid = tower->grid_of(tiles);
    const auto quarter = [](int64_t side) { return ((side + 1) / 2 + 1) / 2; };
    return tile_passes(tiles, grid.count(), quarter(grid.height) * quarter(grid.width),
                       TileRuns::All);
  };
  description.record = [tower, width](const nn::Parameters& parameters, const array::Array& pixels,
                                      const image::VisionShape& /*shape*/) {
    const nn::Parameters at = vision_tower_of(parameters, "patch_embed.projection.weight");
    const nn::Grid grid{pixels.dim(2).constant() / tower->net.patches.height,
                        pixels.dim(3).constant() / tower->net.patches.width};
    const nn::SamEncoderOptions options = tower->for_grid(grid);
    const array::Array planes = nn::sam_encode(at, options, pixels);
    const nn::Parameters projector = projector_of(parameters, "conv_upsampler1.weight");
    const int64_t narrow = options.neck_features;
    const array::Array rows = nn::rows_of_planes(nn::halved(
        projector, {{"conv_upsampler1", 2 * narrow}, {"conv_upsampler2", 4 * narrow}}, planes));
    return nn::projection_of(projector.at("multimodal_projector"), 4 * narrow, width,
                             /*bias=*/true)(rows);
  };
  return description;
}

}  // namespace pippin::models::vision
