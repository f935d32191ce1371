// Networks for images of any size: those that give one row, features or a classifier's scores, and
// those that give a row for each place of a grid.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/models/vision/vision_description.h"
#include "pippin/nn/vision/grid_resize.h"
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

struct MapNetwork {
  VisionResult result = VisionResult::LabelMap;
  VisionLabels labels;       // of LabelMap
  int64_t channels = 3;      // of images
  int64_t least_pixels = 1;  // of a side
  // The grid of an image of this size in pixels.
  std::function<nn::Grid(nn::Grid pixels)> grid;
  // From a checkpoint and an image (1, channels, height, width) to planes (1, numbers of a row,
  // rows and columns of the grid).
  std::function<array::Array(const nn::Parameters& parameters, const array::Array& pixels)> planes;
  std::vector<std::string> unused;
};

// VisionShape::sizes are 1 and the grid.
VisionDescription description_of(MapNetwork network);

}  // namespace pippin::models::vision
