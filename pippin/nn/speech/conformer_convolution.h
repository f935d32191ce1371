// The convolution module of a conformer's layer (Gulati et al. 2020): a gated linear unit, a
// depthwise convolution over the frames, a norm, an activation and a linear layer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pippin/array/array.h"
#include "pippin/nn/layers/convolution.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct ConformerConvolutionOptions {
  int64_t features = 0;
  int64_t size = 0;     // frames that the depthwise convolution sees
  bool causal = false;  // the frame is the last of them, else the one in the middle
  bool bias = true;     // of the three convolutions
  Activation activation = Activation::Silu;
  NamedNorm input_norm;  // an empty name: none
  // After the depthwise convolution: this layer norm, or, for an empty name, the batch norm "norm".
  NamedNorm layer_norm;
};

class ConformerConvolution {
 public:
  ConformerConvolution(const Parameters& parameters, const ConformerConvolutionOptions& options);

  // From (1, frames, features) to the same shape.
  array::Array operator()(const array::Array& x) const;

 private:
  std::string path_;
  ConformerConvolutionOptions options_;
  std::optional<Norm> input_norm_, layer_norm_;
  Convolution first_, depthwise_, last_;
};

}  // namespace pippin::nn
