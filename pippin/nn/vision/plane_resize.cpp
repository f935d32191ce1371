#include "pippin/nn/vision/plane_resize.h"

namespace pippin::nn {

using array::Array;

Array resize_planes(const Array& planes, Grid size, bool align_corners) {
  if (planes.dim(2).constant() == size.height && planes.dim(3).constant() == size.width) {
    return planes;
  }
  return array::record_one(
      "resize_bilinear",
      {{"x", planes},
       {"target_size_height", size.height},
       {"target_size_width", size.width},
       {"sampling_mode", align_corners ? "STRICT_ALIGN_CORNERS" : "UNALIGN_CORNERS"}});
}

Array spread_channels(const Array& planes, int64_t factor) {
  return array::record_one("pixel_shuffle", {{"x", planes}, {"upscale_factor", factor}});
}

}  // namespace pippin::nn
