// The configuration of Segment Anything's image encoder, which towers for documents have.
#pragma once

#include <string>

#include "pippin/models/config/config.h"
#include "pippin/models/vision/tiles.h"
#include "pippin/nn/vision/sam_encoder.h"

namespace pippin::models::vision {

struct SamTower {
  nn::SamEncoderOptions net;  // without the sizes that an image gives
  int64_t window = 14;
  std::vector<bool> sees_all;  // of each layer

  // The encoder for images of `grid` patches.
  nn::SamEncoderOptions for_grid(nn::Grid grid) const;
  // The grid of such tiles; throws InvalidArgument for sides that are not multiples of a patch.
  nn::Grid grid_of(const Tiles& tiles) const;
};

SamTower read_sam(const Config& config);

}  // namespace pippin::models::vision
