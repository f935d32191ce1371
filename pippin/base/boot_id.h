// Which start of which machine this is.
#pragma once

#include <string>

namespace pippin {

// The same in all processes until the machine is started again; empty where the system has none.
std::string boot_id();

}  // namespace pippin
