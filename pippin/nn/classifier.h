// The head of an encoder: scores of a text, or of each of its tokens, from the encoder's states.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pippin/array/array.h"
#include "pippin/nn/encoder.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"

namespace pippin::nn {

struct ClassifierOptions {
  enum class From {
    First,   // the state at position 0
    Mean,    // the mean of all states
    Last,    // the state of the last token
    Each,    // every state: scores of each token
    Scores,  // every state; the result is the mean of the scores
  };
  From from = From::First;
  std::string dense;              // an empty name: none
  int64_t dense_size = 0;         // its features; 0: as many as a state has
  bool dense_of_encoder = false;  // its path is below the encoder's base, else below nothing
  bool dense_bias = true;
  Activation activation = Activation::Tanh;  // after `dense`
  NamedNorm norm;                            // after that
  std::string output;                        // an empty name: none, unless it is tied
  bool output_bias = true;
  bool tied = false;       // the output's matrix is the embedding's
  std::string bias_owner;  // the module whose bias the output adds; an empty name: its own
  int64_t labels = 1;
};

class Classifier {
 public:
  Classifier(const Parameters& parameters, const Encoder& encoder,
             const ClassifierOptions& options);

  // Logits (batch, labels), or (batch, length, labels) of each token, from states fp32 or fp16
  // (batch, length, features) and a mask as in EncoderInput. Without an output, returns its input.
  array::Array operator()(const array::Array& states, const array::Array& mask) const;

 private:
  ClassifierOptions options_;
  std::optional<Linear> dense_;
  std::optional<Norm> norm_;
  std::optional<Linear> output_;
};

}  // namespace pippin::nn
