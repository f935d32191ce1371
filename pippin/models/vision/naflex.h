// SigLIP 2's tower for images of any size (NaFlex): patches that the processor has cut, and
// positions from a table that is resized for each image.
#pragma once

#include <cstdint>

#include "pippin/array/array.h"
#include "pippin/image/image_inputs.h"
#include "pippin/image/vision_pass.h"
#include "pippin/models/config/config.h"
#include "pippin/nn/vision/patch_embedding.h"
#include "pippin/nn/vision/patch_transformer.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::models::vision {

struct NaflexTower {
  nn::PatchEmbeddingOptions patches;
  nn::PatchTransformerOptions tower;

  // A pass for each image of pixel_values (images, patches with padding, numbers of a patch) and
  // spatial_shapes, and a run of as many rows as the grid has that is `factor` times smaller.
  // Throws InvalidArgument for other sizes, and for sides that are not multiples of `factor`.
  image::VisionPasses passes(const image::ImageInputs& inputs, int64_t factor) const;
  // The states of a pass (1, patches, features), with the tower's part of the checkpoint.
  array::Array states(const nn::Parameters& at, const array::Array& pixels,
                      const image::VisionShape& shape) const;
};

// From vision_config. Throws InvalidFile if num_patches is not a square.
NaflexTower naflex_tower(const Config& vision);

}  // namespace pippin::models::vision
