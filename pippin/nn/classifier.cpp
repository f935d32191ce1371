#include "pippin/nn/classifier.h"

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/nn/attention/pooling.h"

namespace pippin::nn {

using array::Array;

namespace {

// A head tied to the embedding needs the same number of features.
Linear tied_output(const Parameters& parameters, const Encoder& encoder,
                   const ClassifierOptions& options, int64_t features) {
  const EncoderOptions& model = encoder.options();
  const int64_t width = model.embedding_size > 0 ? model.embedding_size : model.hidden_size;
  if (width != features) {
    fail(ErrorCode::InvalidFile, "{}: a head of {} features is tied to an embedding of {}",
         parameters.file(), features, width);
  }
  std::optional<Array> bias;
  if (options.output_bias) {
    bias = parameters.at(options.bias_owner).get("bias", {options.labels});
  }
  const Parameters table = encoder.root().at(model.embedding);
  return Linear("head", table.get("weight", {model.vocab_size, width}), bias);
}

std::optional<Linear> make_output(const Parameters& parameters, const Encoder& encoder,
                                  const ClassifierOptions& options, int64_t features) {
  if (options.tied) return tied_output(parameters, encoder, options, features);
  if (options.output.empty()) return std::nullopt;
  const Parameters at = parameters.at(options.output);
  if (options.bias_owner.empty() || !options.output_bias) {
    return Linear(at, features, options.labels, options.output_bias);
  }
  return Linear(at.path(), at.get("weight", {options.labels, features}),
                parameters.at(options.bias_owner).get("bias", {options.labels}));
}

}  // namespace

Classifier::Classifier(const Parameters& parameters, const Encoder& encoder,
                       const ClassifierOptions& options)
    : options_(options) {
  const int64_t width = encoder.options().hidden_size;
  const int64_t inner = options.dense_size > 0 ? options.dense_size : width;
  if (!options.dense.empty()) {
    const Parameters& base = options.dense_of_encoder ? encoder.root() : parameters;
    dense_.emplace(base.at(options.dense), width, inner, options.dense_bias);
  }
  const int64_t features = dense_ ? inner : width;
  if (!options.norm.name.empty()) {
    norm_.emplace(parameters.at(options.norm.name), features, options.norm.norm);
  }
  output_ = make_output(parameters, encoder, options, features);
}

Array Classifier::operator()(const Array& states, const Array& mask) const {
  using From = ClassifierOptions::From;
  const auto pooled = [&](Pooling way, const Array& x) {
    return array::cast(pool({way}, array::cast(x, mil::DataType::Float32), mask), x.type());
  };
  Array x = states;
  if (options_.from == From::First) x = pooled(Pooling::First, states);
  if (options_.from == From::Mean) x = pooled(Pooling::Mean, states);
  if (options_.from == From::Last) x = pooled(Pooling::Last, states);
  const array::Scope scope("classifier");
  if (dense_) x = apply(options_.activation, (*dense_)(x));
  if (norm_) x = (*norm_)(x);
  if (output_) x = (*output_)(x);
  return options_.from == From::Scores ? pooled(Pooling::Mean, x) : x;
}

}  // namespace pippin::nn
