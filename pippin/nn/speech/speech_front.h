// The part of a speech model before its layers: from the waveform, or features of it, to a state
// for each frame.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

class SpeechFront {
 public:
  virtual ~SpeechFront() = default;
  // From (1, samples) or (1, rows, bins) to (1, frames, features).
  virtual array::Array operator()(const array::Array& input) const = 0;
};

// Each of the options below has
//   stride()    samples or rows of a frame
//   shortest()  samples or rows of the shortest input with a frame
//   make(parameters, features)

// wav2vec 2.0: convolutions over the samples, a norm, a linear layer.
struct WaveformFrontOptions {
  std::vector<int64_t> channels, sizes, strides;  // of the convolutions
  bool bias = false;
  // Group: over the time, after the first convolution. Layer: over the channels, after each.
  enum class ConvolutionNorm { Group, Layer };
  ConvolutionNorm convolution_norm = ConvolutionNorm::Group;
  Activation activation = Activation::Gelu;
  NormOptions norm;  // before the linear layer
  bool has_norm = true;

  int64_t stride() const;
  int64_t shortest() const;
  std::unique_ptr<const SpeechFront> make(const Parameters& parameters, int64_t features) const;
};

// FastConformer: convolutions over rows and bins of a spectrogram, each with stride 2, all but the
// first one depthwise with a pointwise one after it; then a linear layer.
struct SpectrogramFrontOptions {
  int64_t bins = 0, channels = 0, size = 3;
  int64_t layers = 3;

  int64_t stride() const { return int64_t{1} << layers; }
  int64_t shortest() const { return 1; }
  std::unique_ptr<const SpeechFront> make(const Parameters& parameters, int64_t features) const;
};

// w2v-BERT 2.0: a norm and a linear layer.
struct ProjectionFrontOptions {
  int64_t bins = 0;
  NormOptions norm;

  int64_t stride() const { return 1; }
  int64_t shortest() const { return 1; }
  std::unique_ptr<const SpeechFront> make(const Parameters& parameters, int64_t features) const;
};

// LASR: a linear layer, two convolutions over the rows, a linear layer.
struct RowsFrontOptions {
  int64_t bins = 0, channels = 0, size = 5, step = 2;

  int64_t stride() const { return step * step; }
  int64_t shortest() const { return (size - 1) * step + size; }
  std::unique_ptr<const SpeechFront> make(const Parameters& parameters, int64_t features) const;
};

}  // namespace pippin::nn
