#include "pippin/nn/layers/causal_convolution.h"

#include <vector>

#include <fmt/ranges.h>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"

namespace pippin::nn {

using array::Array;

CarriedState convolution_state(int64_t features, int64_t length, const std::string& name) {
  return {name, {1, length - 1, features}};
}

namespace {

// The rows of all modules' weights, one after another.
Array joined_kernel(const Parameters& parameters, const std::vector<std::string>& modules,
                    int64_t features, int64_t length) {
  if (modules.size() == 1) {
    return parameters.at(modules.front()).get("weight", {features, 1, length});
  }
  const std::vector<int64_t> dims = {features, 1, length};
  return parameters.made("conv1d.weight", dims, [&](const std::string& full) {
    std::vector<double> values;
    int64_t rows = 0;
    for (const std::string& module : modules) {
      const Parameters at = parameters.at(module);
      const std::vector<int64_t> shape = at.shape("weight");
      const int64_t own = shape.empty() ? 0 : shape.front();
      const std::vector<double> part = at.values("weight", {own, 1, length});
      values.insert(values.end(), part.begin(), part.end());
      rows += own;
    }
    if (rows != features) {
      fail(ErrorCode::InvalidFile,
           "'{}': the convolutions {} have {} features, the configuration needs {}",
           parameters.path(), fmt::join(modules, ", "), rows, features);
    }
    return array::constant(parameters.type(), dims, values, full);
  });
}

void check_style(const Parameters& parameters) {
  if (parameters.style().convolutions) {
    fail(ErrorCode::Unsupported, "'{}': a causal convolution has no form for this package family",
         parameters.path());
  }
}

}  // namespace

CausalConvolution::CausalConvolution(const Parameters& parameters, int64_t features, int64_t length,
                                     bool bias, const std::string& state)
    : path_(parameters.path()),
      features_(features),
      state_(convolution_state(features, length, state)),
      kernel_(parameters.get("weight", {features, 1, length})) {
  if (bias) bias_ = parameters.get("bias", {features});
  check_style(parameters);
}

CausalConvolution::CausalConvolution(const Parameters& parameters,
                                     const std::vector<std::string>& modules, int64_t features,
                                     int64_t length, const std::string& state)
    : path_(parameters.at(modules.size() == 1 ? modules.front() : "conv1d").path()),
      features_(features),
      state_(convolution_state(features, length, state)),
      kernel_(joined_kernel(parameters, modules, features, length)) {
  check_style(parameters);
}

Array CausalConvolution::operator()(const Array& x, const MixerInput& input) const {
  const array::Scope scope(path_);
  const Array rows = array::concat({input.cache.carried(input.layer, state_), x}, 1);
  const Array columns = convolve(array::transpose(rows, {0, 2, 1}));
  const mil::Dim& tokens = x.dim(1);
  input.cache.carry(input.layer, state_,
                    array::slice_axis(rows, 1, tokens, tokens + mil::Dim(state_.shape[1])));
  return array::transpose(columns, {0, 2, 1});
}

Array CausalConvolution::convolve(const Array& columns) const {
  std::vector<array::Param> arguments = {
      {"x", columns}, {"weight", kernel_}, {"groups", features_}, {"pad_type", "valid"}};
  if (bias_) arguments.emplace_back("bias", *bias_);
  return array::record_one("conv", arguments);
}

}  // namespace pippin::nn
