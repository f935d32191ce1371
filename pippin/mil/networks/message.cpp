#include "pippin/mil/networks/message.h"

#include <bit>
#include <span>

namespace pippin::mil::networks {
namespace {

constexpr uint32_t kVarint = 0, kContent = 2, kFixed32 = 5;

std::string_view raw(std::span<const float> values) {
  static_assert(std::endian::native == std::endian::little);
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace

void Message::varint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
  bytes_ += static_cast<char>(value);
}

Message& Message::integer(uint32_t field, int64_t value) {
  tag(field, kVarint);
  varint(static_cast<uint64_t>(value));
  return *this;
}

Message& Message::number(uint32_t field, float value) {
  tag(field, kFixed32);
  bytes_ += raw({&value, 1});
  return *this;
}

Message& Message::content(uint32_t field, std::string_view bytes) {
  tag(field, kContent);
  varint(bytes.size());
  bytes_ += bytes;
  return *this;
}

Message& Message::integers(uint32_t field, const std::vector<int64_t>& values) {
  for (const int64_t value : values) integer(field, value);
  return *this;
}

Message& Message::numbers(uint32_t field, const std::vector<float>& values) {
  return content(field, raw(values));
}

}  // namespace pippin::mil::networks
