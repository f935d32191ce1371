// A vision transformer (Dosovitskiy et al. 2021) with learned positions, as CLIP, SigLIP and many
// others have it: from images to a state for each patch.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/layer.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/vision/grid_resize.h"
#include "pippin/nn/vision/patch_embedding.h"
#include "pippin/nn/vision/vision_layers.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct VisionTransformerOptions {
  PatchEmbeddingOptions patches;
  // A tensor with a vector in front of the patches, of these dims; an empty name: none.
  std::string class_token;
  std::vector<int64_t> class_dims;
  // A tensor (1, num_registers, features) of vectors between the class token and the patches, which
  // have no positions; an empty name: none.
  std::string registers;
  int64_t num_registers = 0;
  // The table of positions, a row for each patch of `grid`, after that of the class token: the
  // tensor's name and its dims before the last two (1, rows, features).
  std::string positions;
  std::vector<int64_t> position_axes;
  Grid grid;
  // For other grids; nothing: their places are those of the nearest patches before them, as shares
  // of the grid (Idefics).
  std::optional<GridResizing> resizing;
  NormOptions norm;
  std::string patch_norm;              // of the patches, before the positions; empty names: none
  std::string first_norm, final_norm;  // before and after the layers
  std::string layers_path;
  std::vector<LayerOptions> layers;

  int64_t features() const { return patches.features; }
  // The states in front of the patches.
  int64_t num_classes() const { return (class_token.empty() ? 0 : 1) + num_registers; }
};

class VisionTransformer {
 public:
  VisionTransformer(const Parameters& parameters, const VisionTransformerOptions& options);

  // Called with the states after each layer.
  using Observer = std::function<void(size_t layer, const array::Array& states)>;
  // States (batch, patches, features) of images (batch, channels, height, width), that of the class
  // token first if there is one.
  array::Array operator()(const array::Array& pixels, const Observer& observer = {}) const;
  // The same without the class token.
  array::Array of_patches(const array::Array& pixels) const;

 private:
  array::Array positions(Grid grid) const;

  VisionTransformerOptions options_;
  Parameters parameters_;
  PatchEmbedding patches_;
  std::optional<Norm> patch_norm_, first_norm_, final_norm_;
  VisionLayers layers_;
};

}  // namespace pippin::nn
