// `pippin inspect --plan`: what the CPU does to run a package, node by node.
#pragma once

#include <string>

#include "pippin/mil/model.h"

namespace pippin::cli {

// Of all functions, of all stages of a pipeline, in the ranges that the model declares. Throws as
// engine::Plan::make().
std::string node_list(const mil::Model& model, bool json);

}  // namespace pippin::cli
