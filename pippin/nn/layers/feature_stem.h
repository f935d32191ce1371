// The convolutions in front of an encoder that reads frames of features (the bins of a spectrogram,
// or one sample of sound) in place of token ids: each is followed by an activation, and strides
// shorten the sequence. Samples may be made frames first (nn/layers/sample_frames.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/layers/convolution.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/sample_frames.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct FeatureStemOptions {
  struct Convolution {
    std::string path;  // "weight" (outputs, inputs, size) and "bias" (outputs)
    int64_t outputs = 0;
    int64_t size = 3, stride = 1, padding = 1;
    bool causal = false;  // the padding is before the first frame alone
    bool bias = true;
    Activation activation = Activation::Gelu;
    // Then all features of all frames are normalized at once, with "weight" and "bias" (outputs)
    // of this module; an empty name: not.
    std::string norm = {};
    double epsilon = 1e-5;

    int64_t padding_after() const { return causal ? 0 : padding; }
  };
  int64_t inputs = 0;        // features of a frame
  int64_t frames = 0;        // of the longest input
  int64_t least_frames = 0;  // of the shortest input; 0: all are the longest
  std::optional<SampleFramesOptions> sample_frames;  // before the convolutions
  std::vector<Convolution> convolutions;

  bool is_fixed() const { return least_frames == 0; }
  // The number of states of the longest input.
  int64_t length() const;
  // The fewest frames that give a state.
  int64_t shortest() const;
};

class FeatureStem {
 public:
  FeatureStem(const Parameters& parameters, const FeatureStemOptions& options);

  // States (1, length, outputs) of features (1, inputs, frames); in a style of channels (1,
  // outputs, 1, length) of (1, inputs, 1, frames).
  array::Array operator()(const array::Array& features) const;

 private:
  struct Layer {
    Convolution convolution;
    std::optional<array::Array> norm_weight, norm_bias;
  };
  static array::Array normalized(const array::Array& x, const Layer& layer, double epsilon);

  FeatureStemOptions options_;
  bool channels_;
  std::optional<SampleFrames> sample_frames_;
  std::vector<Layer> layers_;
};

}  // namespace pippin::nn
