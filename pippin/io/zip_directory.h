// The entries of a zip archive in mapped memory, stored ones as views of it.
//
// For archives whose entries are used where they lie (PyTorch's .bin files, .npz weights); what is
// compressed has to be unpacked by other means. Read from the central directory, zip64 included.
// Every offset and size is checked against the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/base/bytes.h"

namespace pippin {

struct ZipEntry {
  std::string name;
  bool stored = false;
  ByteSpan data;  // as it lies in the file: the content where stored
};

// `name` starts every error message. Throws InvalidFile for anything that is not an archive,
// Unsupported for encrypted entries, LimitExceeded for more than a million of them.
std::vector<ZipEntry> read_zip_directory(ByteSpan file, const std::string& name);

}  // namespace pippin
