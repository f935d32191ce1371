// The orientation of pictures in EXIF metadata.
#pragma once

#include "pippin/base/byte_span.h"
#include "pippin/image/picture.h"

namespace pippin::image {

// Each returns the orientation, 1 to 8, or 1 if the file has none or its metadata is damaged, as
// Pillow does.
int exif_orientation(ByteSpan exif);  // a TIFF header and directories, perhaps after "Exif\0\0"
int jpeg_orientation(ByteSpan file);
int png_orientation(ByteSpan file);
int webp_orientation(ByteSpan file);

// Turns and mirrors the picture so that it is upright.
Picture upright(Picture picture, int orientation);

}  // namespace pippin::image
