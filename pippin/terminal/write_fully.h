// Repeats write(2) until everything is written.
#pragma once

#include <string_view>

namespace pippin::terminal {

// Returns false, with errno set, on failure. Waits while a non-blocking file is full.
bool write_fully(int file, std::string_view text) noexcept;

}  // namespace pippin::terminal
