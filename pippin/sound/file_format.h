// The formats of sound files, by their first bytes. libsndfile reads many more, of which few are in
// use and all would be code for untrusted input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pippin/base/bytes.h"

namespace pippin::sound {

enum class FileFormat : uint8_t { Wav, Flac, Mp3, Other };

// Throws Unsupported for other formats, with their names if they are common, and InvalidFile for an
// empty file.
FileFormat file_format(ByteSpan file, const std::string& name);

}  // namespace pippin::sound
