// The hidden states from which a language model's logits are computed, as an output: the input of
// the head's product with the vocabulary.
#pragma once

#include "pippin/mil/model.h"

namespace pippin::app {

// Adds to each function that has logits an output families::stateful::hidden(0), in float32, with
// as many rows as the logits. Throws Unsupported unless the logits are a product with a constant,
// followed only by views, conversions and elementwise operations.
void add_hidden_output(mil::Model& model);

}  // namespace pippin::app
