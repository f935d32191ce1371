// Vision towers with random weights: configurations, and inputs that fit them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pippin/image/image_inputs.h"

namespace pippin::vision_towers {

struct RandomTower {
  const char* name;
  std::string config;
  std::vector<int64_t> pixels;
  std::map<std::string, std::vector<int64_t>> sizes;
  std::vector<int64_t> runs;  // rows of each
  int64_t width = 6;
};

std::vector<RandomTower> random_towers();
// Towers for images of any size.
std::vector<RandomTower> random_sized_towers();
// Normally distributed pixels.
image::ImageInputs inputs_for(const RandomTower& tower);

}  // namespace pippin::vision_towers
