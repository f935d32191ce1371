// Goldens of vision-language models and of encoders of images: the inputs of each image, and the
// rows of embeddings.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "pippin/image/image_inputs.h"
#include "pippin/io/npz.h"
#include "tests/vision_images.h"

namespace pippin::testing_vision {

struct Golden {
  std::vector<image::ImageInputs> images;
  // Rows of all images in order, or a row for each image; each followed by its deepstack features.
  std::vector<double> rows;
  // The ids of the prompt, and the three coordinates of their positions where these have three:
  // all first coordinates, then all second ones, then all third ones.
  std::vector<double> ids, positions;

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
    images = divided(all);
    for (const char* name : {"image_features", "pooler_output", "logits", "predicted_depth"}) {
      if (!npz.contains(name)) continue;
      const NpyArray array = npz.read(name);
      rows = array.to_doubles();
      if (array.shape.size() == 4) rows = rows_of_planes(rows, array.shape);
      break;
    }
    add_deepstack(npz);
    if (npz.contains("position_ids")) positions = npz.read("position_ids").to_doubles();
    if (npz.contains("input_ids")) ids = npz.read("input_ids").to_doubles();
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

 private:
  // From (images, numbers, height, width) to a row for each place.
  static std::vector<double> rows_of_planes(const std::vector<double>& planes,
                                            const std::vector<int64_t>& shape) {
    const auto numbers = static_cast<size_t>(shape[1]);
    const auto places = static_cast<size_t>(shape[2] * shape[3]);
    std::vector<double> result;
    result.reserve(planes.size());
    for (size_t i = 0; i < planes.size(); ++i) {
      const size_t image = i / numbers / places, place = i / numbers % places;
      result.push_back(planes[(image * numbers + i % numbers) * places + place]);
    }
    return result;
  }

  void add_deepstack(const NpzFile& npz) {
    std::vector<std::vector<double>> parts = {rows};
    for (int i = 0; npz.contains(fmt::format("deepstack_{}", i)); ++i) {
      parts.push_back(npz.read(fmt::format("deepstack_{}", i)).to_doubles());
    }
    if (parts.size() == 1) return;
    const auto width = static_cast<int64_t>(npz.read("image_features").shape.back());
    rows.clear();
    for (int64_t row = 0; row < std::ssize(parts[0]) / width; ++row) {
      for (const auto& part : parts) {
        const auto begin = part.begin() + row * width;
        rows.insert(rows.end(), begin, begin + width);
      }
    }
  }
};

// The coordinates of positions of a prompt in which runs of `placeholder` stand for rows with these
// grids (EmbeddedRows::grid): text counts on, rows have their places in the grid, and the text
// after them goes on after the largest coordinate.
inline std::vector<double> positions_of(const std::vector<double>& ids, double placeholder,
                                        const std::vector<std::array<int64_t, 3>>& grids) {
  const size_t count = ids.size();
  std::vector<double> positions(3 * count);
  int64_t next = 0;
  size_t image = 0;
  for (size_t i = 0; i < count;) {
    if (ids[i] != placeholder) {
      for (size_t axis = 0; axis < 3; ++axis) {
        positions[axis * count + i] = static_cast<double>(next);
      }
      ++next;
      ++i;
      continue;
    }
    const auto [frames, height, width] = grids.at(image++);
    for (int64_t place = 0; place < frames * height * width; ++place, ++i) {
      const int64_t at[] = {place / width / height, place / width % height, place % width};
      for (size_t axis = 0; axis < 3 && i < count; ++axis) {
        positions[axis * count + i] = static_cast<double>(next + at[axis]);
      }
    }
    next += std::max({frames, height, width});
  }
  return positions;
}

}  // namespace pippin::testing_vision
