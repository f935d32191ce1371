// Reads small files, with errors that name the path.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "pippin/base/files/mapped_file.h"

namespace pippin {

// Throws LimitExceeded if the file has more than `max_bytes` bytes, and as MappedFile::open().
std::string read_file(const std::filesystem::path& path, size_t max_bytes = size_t{1} << 30,
                      StandIns stand_ins = StandIns::Refuse);

}  // namespace pippin
