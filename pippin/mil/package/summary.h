// A one-page summary of a package: functions with their inputs, outputs and states, counts of
// operations, weights by type, metadata. Text for people, JSON for programs.
#pragma once

#include <string>

#include "pippin/mil/model.h"

namespace pippin::mil {

std::string summary_text(const Model& model);
std::string summary_json(const Model& model);

// The type and the sizes of an input, output or state: "float16 [1, 1, 1..256, 1..2048]".
std::string spell_type(const Feature& feature);

}  // namespace pippin::mil
