// The image encoder of Segment Anything (Kirillov et al. 2023): layers whose attention knows the
// distances of rows and columns, in windows or among all patches; then convolutions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/vision/grid_attention.h"
#include "pippin/nn/vision/grid_resize.h"
#include "pippin/nn/vision/patch_embedding.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

// x += attention(norm(x)); x += mlp(norm(x)).
struct SamLayerOptions {
  NormOptions norm;
  std::string attention_norm = "layer_norm1", mlp_norm = "layer_norm2";
  std::string attention_path = "attn", mlp_path = "mlp";
  GridAttentionOptions attention;
  MLPOptions mlp;
};

struct SamEncoderOptions {
  PatchEmbeddingOptions patches;
  std::string positions = "pos_embed";  // (1, height, width, features); an empty name: none
  Grid grid;                            // of the positions
  GridResizing resizing;                // for other grids
  std::string layers_path = "layers";
  std::vector<SamLayerOptions> layers;
  // A convolution of 1x1, a norm, one of 3x3, and a norm.
  std::string first = "neck.conv1", first_norm = "neck.layer_norm1";
  std::string second = "neck.conv2", second_norm = "neck.layer_norm2";
  NormOptions norm;
  int64_t neck_features = 256;
  // Convolutions of 3x3 that halve the sides of the grid.
  struct Halving {
    std::string path;
    int64_t features = 0;
  };
  std::vector<Halving> halvings;
};

// From images (batch, channels, height, width) to planes (batch, features, rows, columns).
array::Array sam_encode(const Parameters& parameters, const SamEncoderOptions& options,
                        const array::Array& pixels);

// Convolutions of 3x3 without a bias, each of which halves the sides, rounding up.
array::Array halved(const Parameters& parameters,
                    const std::vector<SamEncoderOptions::Halving>& halvings, array::Array planes);

}  // namespace pippin::nn
