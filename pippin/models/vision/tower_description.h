// The description of a tower that is a class with passes(inputs) and record(parameters, pixels,
// shape).
#pragma once

#include <memory>
#include <utility>

#include "pippin/models/vision/vision_description.h"

namespace pippin::models::vision {

template <typename Tower>
VisionDescription description_of(Tower tower) {
  const auto shared = std::make_shared<const Tower>(std::move(tower));
  VisionDescription description;
  description.passes = [shared](const auto& inputs) { return shared->passes(inputs); };
  description.record = [shared](const auto& parameters, const auto& pixels, const auto& shape) {
    return shared->record(parameters, pixels, shape);
  };
  return description;
}

}  // namespace pippin::models::vision
