// Runs the steps of a release, and its gates.
#pragma once

#include <string>

#include "pippin/cli/release/recipe.h"
#include "pippin/cli/release/release_report.h"

namespace pippin::cli {

struct ReleaseOptions {
  bool no_push = false;
  std::string version;  // "pippin 0.1.0 (01234567)"
};

// Steps that an earlier run did with the same inputs are not run again. A failure of a variant does
// not end the others; nothing is pushed unless all passed. Throws Io, Cancelled, and NotFound for a
// source that does not exist.
ReleaseReport run_release(const Recipe& recipe, const ReleaseOptions& options);

}  // namespace pippin::cli
