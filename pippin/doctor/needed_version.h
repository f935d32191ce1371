// The oldest version of the file format that supports everything in a model.
#pragma once

#include "pippin/mil/model.h"

namespace pippin::doctor {

// Determined by its opsets, states, functions and interface; for a model with programs.
int needed_specification(const mil::Model& model);

}  // namespace pippin::doctor
