// The vision towers of Qwen's models since Qwen2-VL, and of models after them: patches in blocks,
// rotated by row and column, and neighbouring patches merged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/models/config/config.h"
#include "pippin/models/vision/patch_inputs.h"
#include "pippin/models/vision/vision_description.h"
#include "pippin/nn/vision/patch_embedding.h"
#include "pippin/nn/vision/patch_transformer.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::models::vision {

// The defaults of a tower's configuration class for absent keys.
struct QwenDefaults {
  std::string_view width_key = "hidden_size";
  int64_t hidden_size = 1152, num_layers = 27, num_heads = 16;
  int64_t patch_size = 16;
  std::string_view activation = "gelu_pytorch_tanh";
};

struct QwenTower {
  nn::PatchEmbeddingOptions patches;
  nn::PatchTransformerOptions tower;
  int64_t outputs = 0;  // of the merger

  int64_t factor() const { return tower.block; }
  int64_t joined() const { return factor() * factor(); }
  // The part of a checkpoint with the tower.
  static nn::Parameters at(const nn::Parameters& parameters);
  // With `split`, the rows of each patch of frames are a run of their own.
  image::VisionPasses passes(const image::ImageInputs& inputs, bool split = false) const;
  // The patches of a pass after the first matrix.
  array::Array embedded(const nn::Parameters& at, const array::Array& pixels,
                        const PatchGrid& grid) const;
};

// Layers with fused projections and a norm of that kind; the caller completes the feed-forwards.
QwenTower qwen_tower(const Config& vision, const QwenDefaults& defaults,
                     const nn::NormOptions& norm);

}  // namespace pippin::models::vision
