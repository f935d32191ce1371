// The convolutions in front of an encoder that reads frames of features (the bins of a spectrogram)
// in place of token ids: each is followed by an activation, and strides shorten the sequence.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct FeatureStemOptions {
  struct Convolution {
    std::string path;  // "weight" (outputs, inputs, size) and "bias" (outputs)
    int64_t outputs = 0;
    int64_t size = 3, stride = 1, padding = 1;
    Activation activation = Activation::Gelu;
  };
  int64_t inputs = 0;  // features of a frame
  int64_t frames = 0;  // of every input
  std::vector<Convolution> convolutions;

  // The number of states that come of the frames; below 1 if there are too few.
  int64_t length() const;
};

class FeatureStem {
 public:
  FeatureStem(const Parameters& parameters, const FeatureStemOptions& options);

  // States (1, length, outputs) of features (1, inputs, frames).
  array::Array operator()(const array::Array& features) const;

 private:
  struct Convolution {
    std::string path;
    array::Array weight, bias;
  };
  FeatureStemOptions options_;
  std::vector<Convolution> convolutions_;
};

}  // namespace pippin::nn
