// The parts of a transducer (Graves 2012) after its encoder: a prediction network, which reads the
// tokens so far, and a joint network, which scores the next one for a frame. A token-and-duration
// transducer (Xu et al. 2023) also scores the number of frames to advance.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/array/array.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/recurrent/lstm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct TransducerOptions {
  int64_t vocab_size = 0;  // the blank included
  int64_t encoder_features = 0, features = 0;
  int64_t layers = 0;     // of the prediction network
  int64_t durations = 0;  // their number; 0: none are scored
  Activation activation = Activation::Relu;
};

class Transducer {
 public:
  Transducer(const Parameters& parameters, const TransducerOptions& options);

  // From the encoder's states (1, frames, encoder_features) to (1, frames, features).
  array::Array project(const array::Array& states) const { return projector_(states); }

  // States are (layers, 1, features), the result is (1, 1, features).
  struct Predicted {
    array::Array result, hidden, cell;
  };
  // `token`: int32 (1, 1).
  Predicted predict(const array::Array& token, const array::Array& hidden,
                    const array::Array& cell) const;

  // Scores (1, frames, vocab_size + durations) of projected states and a prediction.
  array::Array join(const array::Array& projected, const array::Array& predicted) const;

 private:
  TransducerOptions options_;
  Linear projector_;
  Embedding embedding_;
  std::vector<LstmStep> layers_;
  Linear prediction_projector_, head_;
};

}  // namespace pippin::nn
