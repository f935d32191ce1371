// Identifies the current boot of this machine.
#pragma once

#include <string>

namespace pippin {

// Returns the same id in all processes until the next reboot; empty if the system has none.
std::string boot_id();

}  // namespace pippin
