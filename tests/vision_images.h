// The inputs of several images as processors give them together, divided by image.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "pippin/image/image_inputs.h"

namespace pippin::testing_vision {

// Rows [first, first + count) of the first axis.
template <typename Numbers>
Numbers rows_of(const Numbers& all, int64_t first, int64_t count) {
  Numbers part{all.shape, {}};
  const int64_t size = std::ssize(all.values) / std::max<int64_t>(all.shape.at(0), 1);
  part.shape[0] = count;
  const auto begin = all.values.begin() + first * size;
  part.values.assign(begin, begin + count * size);
  return part;
}

// Rows of pixel_values for each image: patches of image_grid_thw, or one for each size or shape.
// One image if none of these tells them apart.
inline std::vector<image::ImageInputs> divided(const image::ImageInputs& all) {
  const auto& pixels = all.pixel_values;
  std::string key;
  for (const char* name :
       {"image_grid_thw", "image_sizes", "spatial_shapes", "image_position_ids"}) {
    const auto found = all.sizes.find(name);
    if (found == all.sizes.end()) continue;
    const bool rows = std::string(name) == "image_grid_thw" ||
                      (pixels.shape.size() < 5 && pixels.shape.at(0) == found->second.shape.at(0));
    if (rows) key = name;
  }
  if (key.empty()) return {all};
  const image::IntArray& sizes = all.sizes.at(key);
  std::vector<image::ImageInputs> images;
  int64_t first = 0;
  for (int64_t i = 0; i < sizes.shape.at(0); ++i) {
    const image::IntArray own = rows_of(sizes, i, 1);
    int64_t count = 1;
    if (key == "image_grid_thw") {
      for (const int64_t size : own.values) count *= size;
    }
    image::ImageInputs& image = images.emplace_back();
    image.pixel_values = rows_of(pixels, first, count);
    for (const auto& [name, numbers] : all.sizes) {
      // A row for each image, or numbers for all of them together.
      image.sizes[name] =
          numbers.shape.at(0) == sizes.shape.at(0) ? rows_of(numbers, i, 1) : numbers;
    }
    first += count;
  }
  return images;
}

}  // namespace pippin::testing_vision
