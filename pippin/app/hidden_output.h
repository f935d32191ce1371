// The states behind a language model's logits, as an output: what its head multiplies by the
// vocabulary.
#pragma once

#include "pippin/mil/model.h"

namespace pippin::app {

// Gives each function that has logits one more output, families::stateful::hidden(0), in float32,
// of as many rows as the logits have. Throws Unsupported if the logits are no product with a
// constant, views, conversions and elementwise operations aside.
void add_hidden_output(mil::Model& model);

}  // namespace pippin::app
