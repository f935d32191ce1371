// A convolution with a bias, over one axis or two.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct ConvolutionOptions {
  std::vector<int64_t> dims;  // of "weight": (outputs, inputs / groups, size, ...)
  bool bias = true;
  std::vector<int64_t> strides = {1};  // of each axis, or one for all
  int64_t groups = 1;
  std::vector<int64_t> padding;  // zeros before and after each axis; empty: none
};

class Convolution {
 public:
  Convolution(const Parameters& parameters, const ConvolutionOptions& options);
  // With weights that are made elsewhere.
  Convolution(std::string path, const ConvolutionOptions& options, array::Array weight,
              std::optional<array::Array> bias);

  const std::string& path() const { return path_; }
  // From (1, inputs, length, ...) to (1, outputs, length, ...).
  array::Array operator()(const array::Array& x) const;

 private:
  std::string path_;
  ConvolutionOptions options_;
  array::Array weight_;
  std::optional<array::Array> bias_;
};

// The first half of the channels, multiplied by the sigmoid of the second half: from
// (1, 2 * channels, length) to (1, channels, length).
array::Array gated_by_half(const array::Array& x);

}  // namespace pippin::nn
