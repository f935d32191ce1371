// Messages as bytes: numbers and arrays one after another. Read by ByteReader.
#pragma once

#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "pippin/base/bytes.h"
#include "pippin/base/error.h"
#include "pippin/pipeline/transport.h"

namespace pippin::pipeline {

class Writer {
 public:
  template <typename T>
  requires std::is_trivially_copyable_v<T> Writer& put(const T& value) {
    return put_raw({reinterpret_cast<const std::byte*>(&value), sizeof(value)});
  }
  Writer& put_bytes(ByteSpan bytes) {
    put<uint64_t>(bytes.size());
    return put_raw(bytes);
  }
  Writer& put_text(std::string_view text) { return put_bytes(as_byte_span(text)); }
  template <typename T>
  Writer& put_all(std::span<const T> values) {
    return put_bytes(std::as_bytes(values));
  }
  Writer& put_raw(ByteSpan bytes) {
    message_.insert(message_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  Message take() { return std::move(message_); }

 private:
  Message message_;
};

inline ByteSpan read_bytes(ByteReader& reader) {
  return reader.take(reader.read<uint64_t>());
}

inline std::string read_text(ByteReader& reader) {
  const ByteSpan bytes = read_bytes(reader);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <typename T>
std::vector<T> read_all(ByteReader& reader) {
  const ByteSpan bytes = read_bytes(reader);
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

// Whether something failed, and with which Error.
inline void put_error(Writer& message, const std::optional<Error>& error) {
  message.put<uint8_t>(error ? 1 : 0);
  if (error) message.put(error->code()).put_text(error->what());
}

inline std::optional<Error> read_error(ByteReader& reader) {
  if (reader.read<uint8_t>() == 0) return std::nullopt;
  const auto code = reader.read<ErrorCode>();
  return Error(code, read_text(reader));
}

}  // namespace pippin::pipeline
