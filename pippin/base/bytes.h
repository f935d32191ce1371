// All untrusted bytes are read through ByteReader, which never reads past its end.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "pippin/base/byte_span.h"
#include "pippin/base/error.h"

namespace pippin {

// Reads little-endian values and slices of a byte span. `name` starts error messages.
class ByteReader {
 public:
  ByteReader(ByteSpan bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  size_t position() const { return position_; }
  size_t remaining() const { return bytes_.size() - position_; }
  void seek(size_t position) {
    if (position > bytes_.size()) {
      fail(ErrorCode::InvalidFile, "{}: offset {} is past the end ({} bytes)", name_, position,
           bytes_.size());
    }
    position_ = position;
  }

  template <typename T>
  requires std::is_trivially_copyable_v<T> T read() {
    static_assert(std::endian::native == std::endian::little);
    T value;
    ByteSpan source = take(sizeof(T));
    std::memcpy(&value, source.data(), sizeof(T));
    return value;
  }

  ByteSpan take(size_t count) {
    if (count > remaining()) {
      fail(ErrorCode::InvalidFile, "{}: {} bytes needed at offset {}, {} left", name_, count,
           position_, remaining());
    }
    ByteSpan result = bytes_.subspan(position_, count);
    position_ += count;
    return result;
  }

 private:
  ByteSpan bytes_;
  std::string name_;
  size_t position_ = 0;
};

}  // namespace pippin
