// What the system keeps of files in memory.
#pragma once

#include <filesystem>

namespace pippin {

// A wish: that all of an open file is on its way into memory when it is wanted.
void want_soon(int fd) noexcept;

// Writes a file back and asks the system to forget what it has of it in memory. False where that
// did not work.
bool forget_cached(const std::filesystem::path& path) noexcept;

}  // namespace pippin
