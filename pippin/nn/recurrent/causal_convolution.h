// A depthwise causal convolution of few taps over a sequence: it carries the last length - 1 rows
// of its input from pass to pass.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

// The name of the carried state.
inline constexpr const char* kConvolutionState = "convCache";
CarriedState convolution_state(int64_t features, int64_t length);

class CausalConvolution {
 public:
  // "weight" is (features, 1, length), "bias" (features).
  CausalConvolution(const Parameters& parameters, int64_t features, int64_t length, bool bias);
  // A convolution whose weight is that of several modules of `parameters`, joined in this order,
  // with any number of features each.
  CausalConvolution(const Parameters& parameters, const std::vector<std::string>& modules,
                    int64_t features, int64_t length);

  // From (1, q, features) to the same shape.
  array::Array operator()(const array::Array& x, const MixerInput& input) const;

 private:
  array::Array convolve(const array::Array& columns) const;

  std::string path_;
  int64_t features_, length_;
  array::Array kernel_;
  std::optional<array::Array> bias_;
};

}  // namespace pippin::nn
