#include "pippin/nn/speech/frame_adapter.h"

#include <algorithm>

#include "pippin/array/ops.h"
#include "pippin/nn/layers/pass_cache.h"

namespace pippin::nn {

using array::Array;

namespace {

// Rows (1, frames, features) convolved, with gates.
Array joined(const Convolution& convolution, const Array& x) {
  return array::transpose(gated_by_half(convolution(array::transpose(x, {0, 2, 1}))), {0, 2, 1});
}

}  // namespace

int64_t FrameAdapterOptions::stride() const {
  int64_t result = 1;
  for (int64_t i = 0; i < layers; ++i) result *= step;
  return result;
}

int64_t FrameAdapterOptions::shortest() const {
  const int64_t padding = 2 * (step / 2);
  int64_t result = 1;
  for (int64_t i = 0; i < layers; ++i) {
    result = std::max<int64_t>((result - 1) * step + size - padding, 1);
  }
  return result;
}

FrameAdapter::FrameAdapter(const Parameters& parameters, const FrameAdapterOptions& options)
    : path_(parameters.path()) {
  const int64_t features = options.features;
  if (options.in_features != features) {
    projection_.emplace(parameters.at("proj"), options.in_features, features, /*bias=*/true);
    projection_norm_.emplace(parameters.at("proj_layer_norm"), features, options.norm);
  }
  const int64_t beside = options.step / 2;
  const ConvolutionOptions convolution{.dims = {2 * features, features, options.size},
                                       .strides = {options.step},
                                       .padding = {beside, beside}};
  layers_.reserve(static_cast<size_t>(options.layers));
  for (int64_t i = 0; i < options.layers; ++i) {
    const Parameters at = parameters.at("layers").at(i);
    layers_.push_back({Norm(at.at("residual_layer_norm"), features, options.norm),
                       Norm(at.at("self_attn_layer_norm"), features, options.norm),
                       Norm(at.at("ffn_layer_norm"), features, options.norm),
                       Convolution(at.at("residual_conv"), convolution),
                       Convolution(at.at("self_attn_conv"), convolution),
                       Attention(at.at("self_attn"), options.attention),
                       MLP(at.at("ffn"), options.feed_forward)});
  }
}

Array FrameAdapter::operator()(const Array& x) const {
  const array::Scope scope(path_);
  Array h = projection_ ? (*projection_norm_)((*projection_)(x)) : x;
  LayerCarry carry;
  for (const Layer& layer : layers_) {
    const Array residual = joined(layer.residual, layer.residual_norm(h));
    const Array input = joined(layer.input, layer.attention_norm(h));
    PassCache cache;
    const mil::Dim& length = input.dim(1);
    const Pass pass{0, length, length, input};
    h = layer.attention(input, {0, nullptr, nullptr, cache, pass, carry, nullptr, nullptr}) +
        residual;
    h = h + layer.feed_forward(layer.feed_forward_norm(h), carry);
  }
  return h;
}

}  // namespace pippin::nn
