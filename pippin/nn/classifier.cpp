#include "pippin/nn/classifier.h"

#include "pippin/array/ops.h"
#include "pippin/nn/attention/pooling.h"

namespace pippin::nn {

using array::Array;

Classifier::Classifier(const Parameters& parameters, const Encoder& encoder,
                       const ClassifierOptions& options)
    : options_(options),
      output_(parameters.at(options.output), encoder.options().hidden_size, options.labels,
              options.output_bias) {
  const int64_t width = encoder.options().hidden_size;
  if (!options.dense.empty()) {
    const Parameters& base = options.dense_of_encoder ? encoder.root() : parameters;
    dense_.emplace(base.at(options.dense), width, width, options.dense_bias);
  }
  if (!options.norm.name.empty()) {
    norm_.emplace(parameters.at(options.norm.name), width, options.norm.norm);
  }
}

Array Classifier::operator()(const Array& states, const Array& mask) const {
  using From = ClassifierOptions::From;
  const Pooling way = options_.from == From::First  ? Pooling::First
                      : options_.from == From::Mean ? Pooling::Mean
                                                    : Pooling::Last;
  const Array wide = array::cast(states, mil::DataType::Float32);
  Array x = array::cast(pool({way}, wide, mask), states.type());
  const array::Scope scope("classifier");
  if (dense_) x = apply(options_.activation, (*dense_)(x));
  if (norm_) x = (*norm_)(x);
  return output_(x);
}

}  // namespace pippin::nn
