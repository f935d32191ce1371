// Goldens of vision-language models and of encoders of images: the inputs of each image, and the
// rows of embeddings.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "pippin/image/image_inputs.h"
#include "pippin/io/npz.h"

namespace pippin::testing_vision {

struct Golden {
  std::vector<image::ImageInputs> images;
  // Rows of all images in order, or a row for each image.
  std::vector<double> rows;

  explicit Golden(const std::filesystem::path& folder) {
    const NpzFile npz = NpzFile::open(folder / "golden.npz");
    const NpyArray pixels = npz.read("in_pixel_values");
    image::ImageInputs all;
    for (const uint64_t size : pixels.shape) {
      all.pixel_values.shape.push_back(static_cast<int64_t>(size));
    }
    for (const double value : pixels.to_doubles()) {
      all.pixel_values.values.push_back(static_cast<float>(value));
    }
    for (const char* name :
         {"image_grid_thw", "spatial_shapes", "image_sizes", "target_sizes", "image_position_ids",
          "pixel_attention_mask", "batch_num_images", "num_local_patches"}) {
      const std::string key = std::string("in_") + name;
      if (!npz.contains(key)) continue;
      const NpyArray array = npz.read(key);
      image::IntArray& ints = all.sizes[name];
      for (const uint64_t size : array.shape) ints.shape.push_back(static_cast<int64_t>(size));
      for (const double value : array.to_doubles()) {
        ints.values.push_back(static_cast<int64_t>(value));
      }
    }
    images = {all};
    for (const char* name : {"image_features", "pooler_output", "logits"}) {
      if (!npz.contains(name)) continue;
      rows = npz.read(name).to_doubles();
      break;
    }
  }

  // The largest difference as a share of the largest value.
  double worst(const std::vector<float>& found) const {
    if (found.size() != rows.size()) return INFINITY;
    double most = 0, largest = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const double difference = std::abs(double{found[i]} - rows[i]);
      if (!(difference <= most)) most = difference;
      largest = std::max(largest, std::abs(rows[i]));
    }
    return most / largest;
  }
};

}  // namespace pippin::testing_vision
