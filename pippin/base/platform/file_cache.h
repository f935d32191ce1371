// The system's page cache.
#pragma once

#include <filesystem>

namespace pippin {

// Best effort: reads an open file into memory ahead of its use.
void want_soon(int fd) noexcept;

// Writes a file back and drops it from the page cache. Returns false on failure.
bool forget_cached(const std::filesystem::path& path) noexcept;

}  // namespace pippin
