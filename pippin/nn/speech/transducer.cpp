#include "pippin/nn/speech/transducer.h"

#include "pippin/array/ops.h"

namespace pippin::nn {

using array::Array;

Transducer::Transducer(const Parameters& parameters, const TransducerOptions& options)
    : options_(options),
      projector_(parameters.at("encoder_projector"), options.encoder_features, options.features,
                 /*bias=*/true),
      embedding_(parameters.at("decoder.embedding"), options.vocab_size, options.features),
      prediction_projector_(parameters.at("decoder.decoder_projector"), options.features,
                            options.features, /*bias=*/true),
      head_(parameters.at("joint.head"), options.features, options.vocab_size + options.durations,
            /*bias=*/true) {
  layers_.reserve(static_cast<size_t>(options.layers));
  for (int64_t i = 0; i < options.layers; ++i) {
    layers_.emplace_back(parameters.at("decoder.lstm"), i, options.features, options.features);
  }
}

Transducer::Predicted Transducer::predict(const Array& token, const Array& hidden,
                                          const Array& cell) const {
  Array x = array::squeeze(embedding_(token), {1});
  std::vector<Array> next_hidden, next_cell;
  next_hidden.reserve(layers_.size());
  next_cell.reserve(layers_.size());
  const auto of_layer = [](const Array& state, int64_t index) {
    return array::squeeze(array::slice_axis(state, 0, index, index + 1), {0});
  };
  for (size_t i = 0; i < layers_.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    const Array before = of_layer(hidden, index);
    const auto [out, kept] = layers_[i](x, before, of_layer(cell, index));
    x = out;
    next_hidden.push_back(array::expand_dims(out, {0}));
    next_cell.push_back(array::expand_dims(kept, {0}));
  }
  const auto joined = [](const std::vector<Array>& parts) {
    return parts.size() == 1 ? parts.front() : array::concat(parts, 0);
  };
  const Array result = array::expand_dims(prediction_projector_(x), {1});
  const Array all_hidden = joined(next_hidden);
  return {result, all_hidden, joined(next_cell)};
}

Array Transducer::join(const Array& projected, const Array& predicted) const {
  const array::Scope scope("joint");
  return head_(apply(options_.activation, projected + predicted));
}

}  // namespace pippin::nn
