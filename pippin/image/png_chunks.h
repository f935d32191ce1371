// The chunks of a PNG file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pippin/base/byte_span.h"

namespace pippin::image {

class PngChunks {
 public:
  struct Chunk {
    std::string_view type;
    ByteSpan body;
    ByteSpan whole;  // with length, type and checksum
  };

  // `file` must outlive the chunks.
  explicit PngChunks(ByteSpan file) : file_(file) {}
  // Returns nothing at the end, and at a chunk that the file does not contain completely.
  std::optional<Chunk> next();

 private:
  ByteSpan file_;
  size_t at_ = 8;  // after the signature
};

// Returns the number at byte `at`, most significant byte first, which must be in the span.
uint32_t png_number(ByteSpan bytes, size_t at, size_t size = 4);
// Appends a chunk with its checksum.
void append_png_chunk(std::string& file, std::string_view type, std::string_view body);

}  // namespace pippin::image
