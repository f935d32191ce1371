// The formats of sound files, by their first bytes. libsndfile reads many more, of which few are in
// use and all would be code for untrusted input.
#pragma once

#include <cstdint>
#include <string>

#include "pippin/base/bytes.h"

namespace pippin::sound {

enum class FileFormat : uint8_t { Wav, Flac, Ogg, Mp3, Aiff, Au, Caf };

// Throws Unsupported for other formats, with their names if they are common, and InvalidFile for an
// empty file and for a WAV file that is shorter than its header states. A WAV file of unknown
// length, as programs write it to pipes, ends with the file.
FileFormat check_file_format(ByteSpan file, const std::string& name);

}  // namespace pippin::sound
