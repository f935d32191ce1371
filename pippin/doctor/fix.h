// The findings that Pippin itself can fix.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "pippin/mil/model.h"

namespace pippin::doctor {

// Changes a model that is about to be written according to the rules; `name` is used in a
// description. Returns a line for each change, none if there was nothing to do. `rules` are the ids
// of fixable rules; "all" selects every one. A pipeline's description is written to the pipeline;
// everything else is fixed in it and in its stages. Throws InvalidArgument for other rules, listing
// the fixable ones.
std::vector<std::string> fix(mil::Model& model, std::span<const std::string> rules,
                             const std::string& name);

}  // namespace pippin::doctor
