// Operation by operation: its share of the work, where it is likely to run, and the rule that keeps
// it off the Neural Engine. Core ML decides on the device itself; this is what the file tells.
#pragma once

#include <string>

#include "pippin/mil/model.h"

namespace pippin::doctor {

// Of all functions, of all stages of a pipeline.
std::string plan_text(const mil::Model& model);
std::string plan_json(const mil::Model& model);

}  // namespace pippin::doctor
