// pippin --version: what is built in, and what of it this machine uses.
#pragma once

#include <string>

namespace pippin::cli {

// Several lines, the first of them "pippin 0.1.0".
std::string version_text();

}  // namespace pippin::cli
