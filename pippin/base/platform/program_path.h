// The path of the running program.
#pragma once

#include <string>

namespace pippin {

// Throws Io if the system does not provide it.
std::string program_path();

}  // namespace pippin
