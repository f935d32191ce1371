#include "pippin/nn/speech/conformer_layer.h"

#include "pippin/array/ops.h"

namespace pippin::nn {

using array::Array;

namespace {

Array sum(const ConformerLayerOptions::Sum& sum, const Array& x, const Array& result) {
  const auto times = [](const Array& y, double factor) { return factor == 1.0 ? y : y * factor; };
  const Array carried = times(x, sum.carry);
  return carried + times(result, sum.scale);
}

}  // namespace

ConformerLayer::ConformerLayer(const Parameters& parameters, const ConformerLayerOptions& options)
    : path_(parameters.path()),
      options_(options),
      first_norm_(parameters.at(options.first_norm), options.features, options.norm),
      second_norm_(parameters.at(options.second_norm), options.features, options.norm),
      attention_norm_(parameters.at(options.attention_norm), options.features, options.norm),
      last_norm_(parameters.at(options.last_norm), options.features, options.norm),
      first_(parameters.at(options.first_feed_forward), options.feed_forward),
      second_(parameters.at(options.second_feed_forward), options.feed_forward),
      attention_(std::visit(
          [&](const auto& attention) {
            return attention.make(parameters.at(options.attention_path));
          },
          options.attention)),
      convolution_(parameters.at(options.convolution_path), options.convolution) {
  if (!options.convolution_norm.empty()) {
    convolution_norm_.emplace(parameters.at(options.convolution_norm), options.features,
                              options.norm);
  }
}

Array ConformerLayer::operator()(const Array& x, const MixerInput& input) const {
  const array::Scope scope(path_);
  Array h = sum(options_.feed_forward_sum, x, first_(first_norm_(x), input.carry));
  h = h + (*attention_)(attention_norm_(h), input);
  h = sum(options_.convolution_sum, h,
          convolution_(convolution_norm_ ? (*convolution_norm_)(h) : h));
  h = sum(options_.feed_forward_sum, h, second_(second_norm_(h), input.carry));
  return last_norm_(h);
}

}  // namespace pippin::nn
