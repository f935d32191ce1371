// A number for each feature that is added, and one that the sum is multiplied with, each of which a
// checkpoint may leave out: (x + bias) * scale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pippin/array/array.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

// Names of tensors; an empty one: there is none.
struct FeatureShiftOptions {
  std::string bias, scale;
};

class FeatureShift {
 public:
  FeatureShift(const Parameters& parameters, int64_t features, const FeatureShiftOptions& options);

  array::Array operator()(const array::Array& x) const;

 private:
  std::optional<array::Array> bias_, scale_;
};

}  // namespace pippin::nn
