// The input of a vision tower: what a model's image processor makes of one image.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pippin::image {

// Numbers with a shape, in row-major order.
struct FloatArray {
  std::vector<int64_t> shape;
  std::vector<float> values;
};
struct IntArray {
  std::vector<int64_t> shape;
  std::vector<int64_t> values;
};

// The outputs of Hugging Face's processor of the model for a batch of this image alone, under the
// names and with the shapes that it uses.
struct ImageInputs {
  // "pixel_values": tiles [tiles, 3, height, width] or [1, tiles, 3, height, width], patches
  // [patches, features], and so on. Also Fuyu's "images" and Phi-4's "image_pixel_values".
  FloatArray pixel_values;
  // The others: "image_grid_thw", "spatial_shapes", "image_sizes", "pixel_attention_mask",
  // "image_position_ids", "target_sizes", ...
  std::map<std::string, IntArray> sizes;
  // Further floats: the local tiles "pixel_values_local" (DeepSeek-OCR 2, Step 3.7), and Fuyu's
  // "image_scale_factors".
  std::map<std::string, FloatArray> further;

  // Of a video, whose other numbers have the names of an image's: the time of each of its patches
  // of frames, in seconds. Empty: an image.
  std::vector<double> times = {};
  double seconds_per_patch = 0, seconds = 0;  // `seconds`: of the whole video

  bool is_video() const { return !times.empty(); }
};

}  // namespace pippin::image
