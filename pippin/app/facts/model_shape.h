// The parts of a model with their sizes, for capacity.h.
#pragma once

#include "pippin/app/facts/capacity.h"
#include "pippin/app/open/open_model.h"

namespace pippin::app {

// Of a model of several packages these; of others, the layers, each with an equal part of what the
// layers have together, where the state of the keys tells how many there are. Reads no weights.
// Throws as read_programs(), and Unsupported for a program that is not a language model.
ModelShape read_shape(const ModelChoice& choice);

}  // namespace pippin::app
