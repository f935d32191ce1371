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
CarriedState convolution_state(int64_t features, int64_t length,
                               const std::string& name = kConvolutionState);

class CausalConvolution {
 public:
  // "weight" is (features, 1, length), "bias" (features).
  CausalConvolution(const Parameters& parameters, int64_t features, int64_t length, bool bias,
                    const std::string& state = kConvolutionState);
  // One whose weight is that of several modules of `parameters`, joined in this order, however many
  // features each of them has.
  CausalConvolution(const Parameters& parameters, const std::vector<std::string>& modules,
                    int64_t features, int64_t length, const std::string& state = kConvolutionState);

  // From (1, q, features) to the same shape.
  array::Array operator()(const array::Array& x, const MixerInput& input) const;

 private:
  array::Array convolve(const array::Array& columns) const;

  std::string path_;
  int64_t features_;
  CarriedState state_;
  array::Array kernel_;
  std::optional<array::Array> bias_;
};

}  // namespace pippin::nn
