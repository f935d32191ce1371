// Parses the layout of a gzip file (RFC 1952), without its content.
#pragma once

#include <cstdint>
#include <string>

#include "pippin/base/bytes.h"

namespace pippin {

struct GzipFile {
  ByteSpan deflated;
  uint32_t crc = 0;   // of the content, as in a zip archive
  uint32_t size = 0;  // of the content, modulo 2^32
};

bool is_gzip(ByteSpan file);

// Parses a file with one member. `name` starts error messages. Throws InvalidFile.
GzipFile parse_gzip(ByteSpan file, const std::string& name);

}  // namespace pippin
