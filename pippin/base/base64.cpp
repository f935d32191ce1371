#include "pippin/base/base64.h"

#include <cstdint>

namespace pippin {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

}  // namespace

std::string encode_base64(ByteSpan bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '=');
  size_t to = 0;
  for (size_t from = 0; from < bytes.size(); from += 3) {
    const size_t count = bytes.size() - from < 3 ? bytes.size() - from : 3;
    uint32_t bits = 0;
    for (size_t i = 0; i < count; ++i) {
      bits |= std::to_integer<uint32_t>(bytes[from + i]) << (16 - 8 * i);
    }
    // n bytes give n + 1 characters.
    for (size_t i = 0; i <= count; ++i) text[to + i] = kDigits[bits >> (18 - 6 * i) & 63];
    to += 4;
  }
  return text;
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  size_t size = text.size();
  while (size > 0 && text.size() - size < 2 && text[size - 1] == '=') --size;
  std::string bytes;
  bytes.reserve(size / 4 * 3 + 2);
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text.substr(0, size)) {
    const int value = digit(c);
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count & 0xFF);
    }
  }
  return bytes;
}

std::optional<std::string_view> base64_of_data_url(std::string_view url) {
  const size_t comma = url.find(',');
  const bool fits = url.starts_with("data:") && comma != std::string_view::npos &&
                    url.substr(0, comma).ends_with(";base64");
  if (!fits) return std::nullopt;
  return url.substr(comma + 1);
}

}  // namespace pippin
