// Small whole files, with errors that name the path.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace pippin {

// Throws LimitExceeded where the file has more than `max_bytes`.
std::string read_file(const std::filesystem::path& path, size_t max_bytes = size_t{1} << 30);

}  // namespace pippin
