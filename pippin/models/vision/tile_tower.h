// Models that compute tiles of one size, each by itself: a tower of nn/vision/vision_transformer.h
// and a projector.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/models/vision/tiles.h"
#include "pippin/models/vision/vision_config.h"
#include "pippin/models/vision/vision_description.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::models::vision {

struct TileTower {
  Tower tower;
  int64_t rows = 0;  // that a tile becomes
  TileRuns runs = TileRuns::All;
  VisionResult result = VisionResult::Rows;
  bool keeps_class = false;  // the class token's state is among those that are projected, first
  // The tower's part of the checkpoint.
  std::function<nn::Parameters(const nn::Parameters& parameters)> part =
      [](const nn::Parameters& parameters) { return vision_tower_of(parameters); };
  // From the states of the patches (batch, patches, features) to (batch, rows, width).
  std::function<array::Array(const nn::Parameters& parameters, const array::Array& states)> project;
  std::vector<std::string> unused;
};

VisionDescription description_of(TileTower tiles);

// N of a share 1 / N of a grid's sides. Throws InvalidFile for other shares.
int64_t inverse_ratio(const Config& config, std::string_view key, double fallback);

// The patches of a grid whose sides `factor` divides, joined; throws InvalidFile with the key for
// others.
int64_t joined_rows(const Config& config, std::string_view key, nn::Grid grid, int64_t factor);

}  // namespace pippin::models::vision
