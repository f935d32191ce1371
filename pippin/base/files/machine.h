// The machine of this process, as files name it that several machines may see.
#pragma once

#include <string>
#include <string_view>

namespace pippin {

std::string host_name();  // empty if it is unknown

// Returns two lines: the name and the boot id.
std::string machine_lines();

// Returns whether a text begins with the lines of this machine. A kernel sees the locks of all its
// processes, including those in other containers; after a reboot the machine has the same name, but
// another boot id.
bool is_of_this_machine(std::string_view text);

}  // namespace pippin
