// The first layer of a vision tower: a matrix that turns each patch of an image into features.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/layers/convolution.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct PatchEmbeddingOptions {
  std::string path = "patch_embedding";  // "weight" and "bias"
  int64_t features = 0;
  int64_t channels = 3;
  int64_t height = 0, width = 0;  // of a patch, in pixels
  int64_t frames = 0;             // of a patch; 0: the weight has no such axis
  bool bias = true;

  // Numbers of a patch.
  int64_t size() const { return channels * (frames > 0 ? frames : 1) * height * width; }
};

// The weight is stored as that of a convolution, (features, channels, [frames,] height, width).
//
// From images (batch, channels, rows * height, columns * width) to (batch, rows * columns,
// features), row by row.
class PatchEmbedding {
 public:
  PatchEmbedding(const Parameters& parameters, const PatchEmbeddingOptions& options);

  array::Array operator()(const array::Array& pixels) const;

 private:
  Convolution convolution_;
};

// A constant with other dims of as many elements, also where it is cast to the type of activations.
array::Array reshaped_weight(const array::Array& weight, std::string_view name,
                             std::vector<int64_t> dims);

// The same for patches (count, size()) that are already cut, in the weight's order of numbers: to
// (1, count, features).
Linear cut_patch_embedding(const Parameters& parameters, const PatchEmbeddingOptions& options);

}  // namespace pippin::nn
