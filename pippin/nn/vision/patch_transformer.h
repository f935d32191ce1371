// A vision transformer for images of any size (NaViT, Dehghani et al. 2023), whose patches are cut
// before it: from embedded patches to their states.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/layer.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/layers/rope.h"
#include "pippin/nn/vision/grid_resize.h"
#include "pippin/nn/vision/patch_grid.h"
#include "pippin/nn/vision/vision_layers.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct PatchTransformerOptions {
  int64_t features = 0;
  // Patches come in blocks of so many rows and columns (block_order); 1: row by row.
  int64_t block = 1;
  NormOptions norm;
  std::string first_norm, final_norm;  // before the positions and after the layers; empty: none
  // The table of positions (rows of `grid`, features), interpolated for each image; empty: none.
  std::string positions;
  Grid grid;
  GridResizing resizing;
  PatchRope rope = PatchRope::None;  // of the whole head
  double theta = 10000.0;
  std::string layers_path;
  std::vector<LayerOptions> layers;
  // Blocks of a window's side, and for each layer whether it sees all patches instead of those of
  // its window; 0: all layers see all patches.
  int64_t window = 0;
  std::vector<bool> sees_all;
};

class PatchTransformer {
 public:
  PatchTransformer(const Parameters& parameters, const PatchTransformerOptions& options);

  // Called with the states after each layer, for towers without windows.
  using Observer = std::function<void(size_t layer, const array::Array& states)>;
  // x and the result are (frames, patches of `grid`, features); a frame sees itself alone.
  array::Array operator()(const array::Array& x, Grid grid, const Observer& observer = {}) const;

 private:
  array::Array positions(Grid grid, const std::vector<int64_t>& order) const;
  std::optional<Rotation> rotation(Grid grid, const std::vector<int64_t>& order) const;
  array::Array in_windows(array::Array x, Grid grid, const std::vector<int64_t>& order) const;

  PatchTransformerOptions options_;
  Parameters parameters_;
  std::optional<Norm> first_norm_, final_norm_;
  VisionLayers layers_;
};

}  // namespace pippin::nn
