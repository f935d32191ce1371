#include "pippin/nn/speech/conformer_convolution.h"

#include "pippin/array/ops.h"
#include "pippin/nn/layers/batch_norm.h"

namespace pippin::nn {

using array::Array;

namespace {

ConvolutionOptions pointwise(int64_t inputs, int64_t outputs, bool bias) {
  return {.dims = {outputs, inputs, 1}, .bias = bias};
}

// With the batch norm after it in its weights.
Convolution depthwise_of(const Parameters& parameters, const ConformerConvolutionOptions& options) {
  const int64_t features = options.features, size = options.size;
  const int64_t before = options.causal ? size - 1 : (size - 1) / 2;
  const ConvolutionOptions convolution{.dims = {features, 1, size},
                                       .bias = options.bias,
                                       .groups = features,
                                       .padding = {before, size - 1 - before}};
  const Parameters at = parameters.at("depthwise_conv");
  if (!options.layer_norm.name.empty()) return Convolution(at, convolution);
  return batch_normed(at, parameters.at("norm"), convolution);
}

std::optional<Norm> norm_of(const Parameters& parameters, const NamedNorm& norm, int64_t features) {
  if (norm.name.empty()) return std::nullopt;
  return Norm(parameters.at(norm.name), features, norm.norm);
}

}  // namespace

ConformerConvolution::ConformerConvolution(const Parameters& parameters,
                                           const ConformerConvolutionOptions& options)
    : path_(parameters.path()),
      options_(options),
      input_norm_(norm_of(parameters, options.input_norm, options.features)),
      layer_norm_(norm_of(parameters, options.layer_norm, options.features)),
      first_(parameters.at("pointwise_conv1"),
             pointwise(options.features, 2 * options.features, options.bias)),
      depthwise_(depthwise_of(parameters, options)),
      last_(parameters.at("pointwise_conv2"),
            pointwise(options.features, options.features, options.bias)) {}

Array ConformerConvolution::operator()(const Array& x) const {
  const array::Scope scope(path_);
  const Array rows = input_norm_ ? (*input_norm_)(x) : x;
  const Array both = first_(array::transpose(rows, {0, 2, 1}));
  Array y = depthwise_(gated_by_half(both));
  if (layer_norm_) {
    y = array::transpose((*layer_norm_)(array::transpose(y, {0, 2, 1})), {0, 2, 1});
  }
  return array::transpose(last_(apply(options_.activation, y)), {0, 2, 1});
}

}  // namespace pippin::nn
