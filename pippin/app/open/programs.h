// The programs of a language model without running it.
#pragma once

#include <string>
#include <vector>

#include "pippin/app/open/open_model.h"
#include "pippin/mil/model.h"

namespace pippin::app {

struct NamedProgram {
  std::string name;  // of the package; empty for a model of one
  mil::Model model;
};

// One for each package, in the order in which they run. Weights are not read, and no plans are
// made. Throws as open_runnable(), and Unsupported for models of speech.
std::vector<NamedProgram> read_programs(const ModelChoice& choice);

}  // namespace pippin::app
