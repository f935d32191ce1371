// The file of the program that runs.
#pragma once

#include <string>

namespace pippin {

// Throws Io where the system does not say.
std::string program_path();

}  // namespace pippin
