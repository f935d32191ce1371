// Prints the programs of a model as text.
#pragma once

#include <functional>
#include <string>

#include "pippin/mil/model.h"

namespace pippin::app {

// Writes the model's program as text, in pieces; with `values`, including the elements of weights.
// Prints the programs of a pipeline's stages one after another, each after a comment.
void write_programs(const mil::Model& model, bool values,
                    const std::function<void(const std::string& text)>& write);

}  // namespace pippin::app
