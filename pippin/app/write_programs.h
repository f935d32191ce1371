// The programs of a model as text.
#pragma once

#include <functional>
#include <string>

#include "pippin/mil/model.h"

namespace pippin::app {

// The model's program as text, in pieces; with `values` the elements of weights, too. The programs
// of a pipeline's stages follow each other, each under a comment.
void write_programs(const mil::Model& model, bool values,
                    const std::function<void(const std::string& text)>& write);

}  // namespace pippin::app
