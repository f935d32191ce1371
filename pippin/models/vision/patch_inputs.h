// Images as patches that the processor has cut, and their grid.
#pragma once

#include <cstdint>
#include <string_view>

#include "pippin/array/array.h"
#include "pippin/image/image_inputs.h"
#include "pippin/image/vision_pass.h"
#include "pippin/models/vision/vision_config.h"
#include "pippin/nn/vision/grid_resize.h"
#include "pippin/nn/vision/patch_transformer.h"
#include "pippin/nn/vision/vision_transformer.h"

namespace pippin::models::vision {

// An entry of ImageInputs::sizes that is (rows, columns). Throws InvalidArgument if it is absent or
// has another form.
const image::IntArray& table_of(const image::ImageInputs& inputs, std::string_view name,
                                int64_t columns);

struct PatchGrid {
  int64_t frames = 1;
  nn::Grid grid;  // of each frame
  int64_t patches() const { return frames * grid.count(); }
};

// image_grid_thw of one image, whose pixel_values must have `features` numbers for each patch.
// Throws InvalidArgument for other sizes, and for sides that are not multiples of `factor`.
PatchGrid patch_grid(const image::ImageInputs& inputs, int64_t features, int64_t factor);

// A pass over the patches (patches, ...) of each frame, which do not see those of others, with 1
// and the grid's sides as VisionShape::sizes, and one run of rows on the grid that is `factor`
// times smaller; with `split`, one for each frame.
image::VisionPasses grid_passes(const image::ImageInputs& inputs, const PatchGrid& grid,
                                int64_t factor, bool split = false);
// The grid of a pass that grid_passes() made.
PatchGrid grid_of(const image::VisionShape& shape);

// The patches (frames, patches of a frame, features) of pixel values (all patches, ...).
array::Array patches_of(const array::Array& pixels, const PatchGrid& grid, int64_t features);
// The rows of all frames one after another: (1, rows, ...) of (frames, patches, features), with the
// features of `joined` successive patches side by side.
array::Array frame_rows(const array::Array& states, int64_t joined);
// Matrices of convolutions have the numbers of patches together: from (1, rows, patches * features)
// to (1, rows, features * patches).
array::Array convolution_order(const array::Array& rows, int64_t patches);

// The layers and positions of a tower that SigLIP's configuration describes.
nn::PatchTransformerOptions patch_tower(const nn::VisionTransformerOptions& tower);
// Throws InvalidFile if the heads of a tower with rotations cannot be divided between row and
// column.
void check_rotated(const Config& vision, const nn::PatchTransformerOptions& tower);

}  // namespace pippin::models::vision
