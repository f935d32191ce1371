// What Pippin itself can do about a finding.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "pippin/mil/model.h"

namespace pippin::doctor {

// Changes a model that is about to be written as the rules say; `name` is what it is called in a
// description. Says in a line each what was done, nothing if nothing was to do. Rules: by their
// ids, those that are fixable; "all" is every one of them. A pipeline's description is written to
// the pipeline, all else is mended in it and in its stages. Throws InvalidArgument for other rules,
// with the names of those there are.
std::vector<std::string> fix(mil::Model& model, std::span<const std::string> rules,
                             const std::string& name);

}  // namespace pippin::doctor
