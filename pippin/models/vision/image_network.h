// Networks of convolutions that give one row for an image of any size: features, or a classifier's
// scores.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "pippin/array/array.h"
#include "pippin/models/vision/vision_description.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::models::vision {

struct ImageNetwork {
  std::string base;          // of the names in files with a classifier
  std::string_view tensor;   // one below the base
  int64_t channels = 3;      // of images
  int64_t least_pixels = 1;  // of a side
  int64_t features = 0;
  std::optional<VisionLabels> labels;  // of a classifier
  // From the network's part of a checkpoint and images (batch, channels, height, width) to
  // (batch, 1, features).
  std::function<array::Array(const nn::Parameters& parameters, const array::Array& pixels)> pooled;
};

VisionDescription description_of(ImageNetwork network);

}  // namespace pippin::models::vision
