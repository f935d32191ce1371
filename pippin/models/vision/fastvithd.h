// FastViTHD (Vasu et al. 2025), the vision tower of FastVLM, and the projector after it.
#pragma once

#include <cstdint>
#include <string_view>

#include "pippin/array/array.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::models::vision {

// A tensor of the tower, which folders for Apple's app lack.
inline constexpr std::string_view kFastVitTensor =
    "model.vision_tower.vision_tower.model.patch_embed.0.reparam_conv.weight";

// From the tower's features (1, rows, features) to rows of the language model: two matrices, as MLX
// names them, and as LLaVA does.
array::Array fastvlm_projected(const nn::Parameters& parameters, const array::Array& features,
                               int64_t width);

}  // namespace pippin::models::vision
