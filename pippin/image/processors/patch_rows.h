// Pictures as rows of patches with padding, for towers that take images of any size (NaFlex).
#pragma once

#include <cstdint>

#include "pippin/image/image_inputs.h"
#include "pippin/image/processors/pixels.h"

namespace pippin::image {

// Appends a picture of whole patches to pixel_values (pictures, `most`, side * side * 3), in which
// a patch has its pixels row by row with the channels of each together, and to the tables
// pixel_attention_mask (pictures, `most`) and spatial_shapes (pictures, 2: rows and columns). Rows
// after the last patch are zero. A remainder of pixels belongs to no patch. Throws InvalidArgument
// for a picture of no patches, or of more than `most`; LimitExceeded if `most` patches have more
// than 2^26 pixels.
void append_patch_rows(const Picture& picture, const PixelOptions& options, int64_t side,
                       int64_t most, ImageInputs& inputs);

}  // namespace pippin::image
