// Builds a protobuf message that Fields reads: compiled networks become messages of the published
// format, whose translation they share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pippin::mil::networks {

class Message {
 public:
  Message& integer(uint32_t field, int64_t value);
  Message& number(uint32_t field, float value);
  // A text, bytes, or an encoded message.
  Message& content(uint32_t field, std::string_view bytes);
  Message& message(uint32_t field, const Message& inner) { return content(field, inner.bytes_); }
  Message& integers(uint32_t field, const std::vector<int64_t>& values);
  // Packed.
  Message& numbers(uint32_t field, const std::vector<float>& values);

  const std::string& bytes() const { return bytes_; }

 private:
  void varint(uint64_t value);
  void tag(uint32_t field, uint32_t wire) { varint(uint64_t{field} << 3 | wire); }

  std::string bytes_;
};

}  // namespace pippin::mil::networks
