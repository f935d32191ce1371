// A digest that identifies a model: two loads of one package have the same digest, different models
// have different ones.
#pragma once

#include "pippin/io/digest.h"
#include "pippin/mil/model.h"

namespace pippin::runtime {

// Adds the operations and constants of all functions. Only evenly spaced pieces of a large constant
// are read: differently trained weights differ everywhere, and reading a whole large model would
// take seconds. The digest therefore tells models apart, but does not detect tampering.
void add_program(Digest& digest, const mil::Model& model);

}  // namespace pippin::runtime
