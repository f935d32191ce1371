#include "pippin/nn/causal_convolution.h"

#include <vector>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"

namespace pippin::nn {

using array::Array;

CarriedState convolution_state(int64_t features, int64_t length) {
  return {kConvolutionState, {1, length - 1, features}};
}

CausalConvolution::CausalConvolution(const Parameters& parameters, int64_t features, int64_t length,
                                     bool bias)
    : path_(parameters.path()),
      features_(features),
      length_(length),
      kernel_(parameters.get("weight", {features, 1, length})) {
  if (bias) bias_ = parameters.get("bias", {features});
  if (parameters.style().convolutions) {
    fail(ErrorCode::Unsupported, "'{}': a causal convolution has no form for this package family",
         path_);
  }
}

Array CausalConvolution::operator()(const Array& x, const MixerInput& input) const {
  const array::Scope scope(path_);
  const CarriedState state = convolution_state(features_, length_);
  const Array rows = array::concat({input.cache.carried(input.layer, state), x}, 1);
  const Array columns = convolve(array::transpose(rows, {0, 2, 1}));
  const mil::Dim& tokens = x.dim(1);
  input.cache.carry(input.layer, state,
                    array::slice_axis(rows, 1, tokens, tokens + mil::Dim(length_ - 1)));
  return array::transpose(columns, {0, 2, 1});
}

Array CausalConvolution::convolve(const Array& columns) const {
  std::vector<array::Param> arguments = {
      {"x", columns}, {"weight", kernel_}, {"groups", features_}, {"pad_type", "valid"}};
  if (bias_) arguments.emplace_back("bias", *bias_);
  return array::record_one("conv", arguments);
}

}  // namespace pippin::nn
