// write(2) until all is written.
#pragma once

#include <string_view>

namespace pippin::terminal {

// False with errno where that fails. Waits for a file that does not take more at the moment.
bool write_fully(int file, std::string_view text) noexcept;

}  // namespace pippin::terminal
