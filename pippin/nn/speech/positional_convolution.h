// Positions by a grouped convolution over the frames (wav2vec 2.0), whose result is added to them.
// Its weight is normalized: the checkpoint has directions and, for each tap, a length.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pippin/array/array.h"
#include "pippin/nn/layers/convolution.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct PositionalConvolutionOptions {
  std::string path;  // with "conv" below
  int64_t features = 0;
  int64_t size = 128, groups = 16;
  Activation activation = Activation::Gelu;
  bool batch_norm = false;  // "batch_norm" before it, in place of the normalized weight
};

class PositionalConvolution {
 public:
  PositionalConvolution(const Parameters& parameters, const PositionalConvolutionOptions& options);

  // x (1, frames, features); so is the result, without x.
  array::Array operator()(const array::Array& x) const;

 private:
  std::string path_;
  Activation activation_;
  std::optional<array::Array> factors_, addends_;  // of the batch norm, (1, features, 1)
  Convolution convolution_;
};

}  // namespace pippin::nn
