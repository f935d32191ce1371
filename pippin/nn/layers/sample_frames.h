// Frames of sound samples, as Moonshine's streaming models have them: each frame is normalized to
// mean 0 and variance 1, compressed by asinh(exp(s) * x), and projected.
#pragma once

#include <cstdint>
#include <string>

#include "pippin/array/array.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct SampleFramesOptions {
  int64_t samples = 0;  // of a frame; the samples after the last whole frame are dropped
  int64_t outputs = 0;
  std::string compression;  // "log_k": s, a scalar
  std::string projection;   // "weight" (outputs, samples)
  Activation activation = Activation::Silu;
  double epsilon = 1e-6;  // added to the variance
};

class SampleFrames {
 public:
  SampleFrames(const Parameters& parameters, const SampleFramesOptions& options);

  // (1, outputs, frames) of (1, 1, samples).
  array::Array operator()(const array::Array& samples) const;

 private:
  SampleFramesOptions options_;
  double factor_;
  Linear projection_;
};

}  // namespace pippin::nn
