// The head of a cross-encoder: scores of a text from one state of its encoder.
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
  enum class From { First, Mean, Last };
  From from = From::First;        // the state that it reads, or the mean of all
  std::string dense;              // as wide as a state; an empty name: none
  bool dense_of_encoder = false;  // its path is below the encoder's base, else at the top level
  bool dense_bias = true;
  Activation activation = Activation::Tanh;  // after `dense`
  NamedNorm norm;                            // after that
  std::string output;
  bool output_bias = true;
  int64_t labels = 1;
};

class Classifier {
 public:
  Classifier(const Parameters& parameters, const Encoder& encoder,
             const ClassifierOptions& options);

  // Logits (batch, labels) from states fp32 or fp16 (batch, length, features) and a mask as in
  // EncoderInput.
  array::Array operator()(const array::Array& states, const array::Array& mask) const;

 private:
  ClassifierOptions options_;
  std::optional<Linear> dense_;
  std::optional<Norm> norm_;
  Linear output_;
};

}  // namespace pippin::nn
