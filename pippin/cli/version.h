// pippin --version: the features that are built in, and those in use on this machine.
#pragma once

#include <string>

namespace pippin::cli {

// The short commit of the sources, with "-dirty" if files differ from it; "unknown" without a
// repository. cmake/commit.cmake writes it at each build.
const char* commit();

// Several lines, beginning with "pippin 0.1.0 (0ec1ea61)".
std::string version_text();

}  // namespace pippin::cli
