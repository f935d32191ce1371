#include "pippin/nn/recurrent/lstm.h"

#include <vector>

#include "pippin/array/ops.h"

namespace pippin::nn {

using array::Array;

namespace {

std::string name_of(const char* what, int64_t layer) {
  return what + std::to_string(layer);
}

}  // namespace

LstmStep::LstmStep(const Parameters& parameters, int64_t layer, int64_t in_features,
                   int64_t features)
    : path_(parameters.at(layer).path()),
      features_(features),
      input_weight_(parameters.get(name_of("weight_ih_l", layer), {4 * features, in_features})),
      input_bias_(parameters.get(name_of("bias_ih_l", layer), {4 * features})),
      hidden_weight_(parameters.get(name_of("weight_hh_l", layer), {4 * features, features})),
      hidden_bias_(parameters.get(name_of("bias_hh_l", layer), {4 * features})) {}

std::pair<Array, Array> LstmStep::operator()(const Array& x, const Array& hidden,
                                             const Array& cell) const {
  const array::Scope scope(path_);
  const Array from_input = array::linear(x, input_weight_, input_bias_);
  const Array gates = from_input + array::linear(hidden, hidden_weight_, hidden_bias_);
  const auto gate = [&](int64_t index) {
    return array::slice_axis(gates, 1, index * features_, (index + 1) * features_);
  };
  const Array in = array::sigmoid(gate(0));
  const Array kept = array::sigmoid(gate(1)) * cell;
  const Array added = in * array::tanh(gate(2));
  const Array next = kept + added;
  const Array out = array::sigmoid(gate(3));
  return {array::named(out * array::tanh(next), "hidden"), array::named(next, "cell")};
}

}  // namespace pippin::nn
