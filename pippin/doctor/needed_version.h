// The oldest version of the file format that says all that a model says.
#pragma once

#include "pippin/mil/model.h"

namespace pippin::doctor {

// By its opsets, states, functions and interface; of a model with programs.
int needed_specification(const mil::Model& model);

}  // namespace pippin::doctor
