// pippin --version: what is built in, and what of it this machine uses.
#pragma once

#include <string>

namespace pippin::cli {

// The commit of the sources, in short, with "-dirty" where files differ from it; "unknown" without
// a repository. cmake/commit.cmake writes it at each build.
const char* commit();

// Several lines, the first of them "pippin 0.1.0 (0ec1ea61)".
std::string version_text();

}  // namespace pippin::cli
