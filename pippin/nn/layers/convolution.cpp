#include "pippin/nn/layers/convolution.h"

#include <utility>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"

namespace pippin::nn {

using array::Array;

namespace {

std::optional<Array> bias_of(const Parameters& parameters, const ConvolutionOptions& options) {
  if (!options.bias) return std::nullopt;
  return parameters.get("bias", {options.dims.front()});
}

}  // namespace

Convolution::Convolution(const Parameters& parameters, const ConvolutionOptions& options)
    : Convolution(parameters.path(), options, parameters.get("weight", options.dims),
                  bias_of(parameters, options)) {}

Convolution::Convolution(std::string path, const ConvolutionOptions& options, Array weight,
                         std::optional<Array> bias)
    : path_(std::move(path)),
      options_(options),
      weight_(std::move(weight)),
      bias_(std::move(bias)) {}

Array Convolution::operator()(const Array& x) const {
  const array::Scope scope(path_);
  const size_t axes = options_.dims.size() - 2;
  std::vector<array::Param> params = {{"x", x}, {"weight", weight_}, {"groups", options_.groups}};
  params.reserve(params.size() + 4);
  if (bias_) params.emplace_back("bias", *bias_);
  params.emplace_back("strides", options_.strides.size() == axes
                                     ? options_.strides
                                     : std::vector<int64_t>(axes, options_.strides.front()));
  params.emplace_back("pad_type", options_.padding.empty() ? "valid" : "custom");
  if (!options_.padding.empty()) params.emplace_back("pad", options_.padding);
  return array::named(array::record_one("conv", std::move(params)), "");
}

Array gated_by_half(const Array& x) {
  const int64_t half = x.dim(1).constant() / 2;
  const Array values = array::slice_axis(x, 1, 0, half);
  const Array gates = array::slice_axis(x, 1, half, 2 * half);
  return values * array::sigmoid(gates);
}

}  // namespace pippin::nn
