// The gated short convolution of LFM2 (Liquid AI 2025): b, c and v are projections of x, and the
// result is the projection of c * conv(b * v), a depthwise causal convolution of `length` taps. A
// sequence carries the last length - 1 rows of b * v.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct ShortConvolutionOptions {
  int64_t features = 0;
  int64_t length = 3;
  bool bias = false;  // of the projections and the convolution
  // "input" has the rows of b, c and v one after another, "kernel" (features, 1, length).
  std::string input = "in_proj", kernel = "conv", output = "out_proj";

  MixerNeeds needs() const;
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

}  // namespace pippin::nn
