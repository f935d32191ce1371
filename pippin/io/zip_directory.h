// Lists the entries of a zip archive in mapped memory; stored entries are views of it.
//
// For archives whose entries are used in place (PyTorch's .bin files, .npz weights); compressed
// entries must be unpacked elsewhere. Reads the central directory, including zip64, and checks
// every offset and size against the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/base/bytes.h"

namespace pippin {

struct ZipEntry {
  std::string name;
  bool stored = false;
  ByteSpan data;  // raw bytes in the file; the content if stored
};

// `name` starts error messages. Throws InvalidFile if the file is not an archive, Unsupported for
// encrypted entries, LimitExceeded for more than a million entries.
std::vector<ZipEntry> read_zip_directory(ByteSpan file, const std::string& name);

}  // namespace pippin
