// A bias and a scale for each feature, (x + bias) * scale; a checkpoint may omit either.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pippin/array/array.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

// Names of tensors; empty: no tensor.
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
