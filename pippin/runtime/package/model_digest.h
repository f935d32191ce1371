// What a model is, in a digest: two loads of the same package have the same, other models have
// another.
#pragma once

#include "pippin/io/digest.h"
#include "pippin/mil/model.h"

namespace pippin::runtime {

// Adds the operations of all functions and their constants. Of a large one only evenly spread
// pieces are read: weights of another training differ everywhere, and all bytes of a large model
// would take seconds. So this tells models apart, not forgeries.
void add_program(Digest& digest, const mil::Model& model);

}  // namespace pippin::runtime
