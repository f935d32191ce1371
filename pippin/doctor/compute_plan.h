// A list of operations: the share of work, the likely device, and the rule that keeps each off the
// Neural Engine. Core ML makes the decision itself; this is based on the file alone.
#pragma once

#include <string>

#include "pippin/mil/model.h"

namespace pippin::doctor {

// The plan of all functions, for all stages of a pipeline.
std::string plan_text(const mil::Model& model);
std::string plan_json(const mil::Model& model);

}  // namespace pippin::doctor
