// A non-owning view of memory as bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace pippin {

// Bytes that are read.
using ByteSpan = std::span<const std::byte>;
// Bytes that are written.
using MutableByteSpan = std::span<std::byte>;

// Returns the bytes of a text.
inline ByteSpan as_byte_span(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
// Returns bytes as text; not checked.
inline std::string_view as_text(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace pippin
