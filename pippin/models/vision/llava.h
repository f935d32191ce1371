// The parts that LLaVA's versions have in common: a tower, one of its layers, and two matrices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/models/vision/vision_config.h"
#include "pippin/nn/vision/projector.h"

namespace pippin::models::vision {

struct LlavaTower {
  Tower tower;
  bool drops_first = true;  // the first state: a class token's
  nn::ProjectorOptions projector;
  std::vector<std::string> unused;

  int64_t rows() const;  // of a tile
  // (batch, rows, width)
  array::Array record(const nn::Parameters& parameters, const array::Array& pixels) const;
};

struct LlavaDefaults {
  int64_t feature_layer = -2;
  std::string_view strategy = "default";
};
LlavaTower read_llava(const Config& config, const LlavaDefaults& defaults = {});

}  // namespace pippin::models::vision
