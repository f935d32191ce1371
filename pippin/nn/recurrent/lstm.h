// A layer of an LSTM (Hochreiter and Schmidhuber 1997), one step: PyTorch's, whose gates are in the
// order input, forget, cell, output.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "pippin/array/array.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

class LstmStep {
 public:
  // "weight_ih_lN" (4 * features, in_features), "weight_hh_lN" (4 * features, features) and the
  // biases "bias_ih_lN" and "bias_hh_lN" of layer N.
  LstmStep(const Parameters& parameters, int64_t layer, int64_t in_features, int64_t features);

  // From x (1, in_features) and the state (1, features) to the next state: the hidden one, which is
  // the layer's result, and that of the cell.
  std::pair<array::Array, array::Array> operator()(const array::Array& x,
                                                   const array::Array& hidden,
                                                   const array::Array& cell) const;

 private:
  std::string path_;
  int64_t features_;
  array::Array input_weight_, input_bias_, hidden_weight_, hidden_bias_;
};

}  // namespace pippin::nn
