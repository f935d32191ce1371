#include "pippin/base/text.h"

#include <fmt/format.h>

namespace pippin {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

struct Decoded {
  char32_t code_point = kReplacement;
  size_t length = 1;
  bool valid = false;
  bool truncated = false;  // valid so far, but incomplete
};

Decoded decode(std::string_view text, size_t position) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(position);
  if (lead < 0x80) return {lead, 1, true, false};
  size_t length = 0;
  char32_t value = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2, value = lead & 0x1Fu;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3, value = lead & 0x0Fu;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4, value = lead & 0x07u;
  } else {
    return {};
  }
  for (size_t i = 1; i < length; ++i) {
    if (position + i >= text.size()) return {kReplacement, 1, false, true};
    const unsigned char next = byte(position + i);
    unsigned char low = 0x80, high = 0xBF;
    if (i == 1) {  // no overlong forms, no surrogates, nothing above U+10FFFF
      if (lead == 0xE0) low = 0xA0;
      if (lead == 0xED) high = 0x9F;
      if (lead == 0xF0) low = 0x90;
      if (lead == 0xF4) high = 0x8F;
    }
    if (next < low || next > high) return {};
    value = (value << 6) | (next & 0x3Fu);
  }
  return {value, length, true, false};
}

}  // namespace

char32_t decode_utf8(std::string_view text, size_t& position) {
  const Decoded decoded = decode(text, position);
  position += decoded.length;
  return decoded.code_point;
}

void append_utf8(std::string& out, char32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

bool is_valid_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    // The most common case in long texts and in vocabularies.
    const bool of_two = lead >= 0xC2 && lead <= 0xDF && i + 1 < text.size() &&
                        (static_cast<unsigned char>(text[i + 1]) & 0xC0) == 0x80;
    if (lead < 0x80 || of_two) {
      i += of_two ? 2 : 1;
      continue;
    }
    const Decoded decoded = decode(text, i);
    if (!decoded.valid) return false;
    i += decoded.length;
  }
  return true;
}

size_t complete_utf8_prefix(std::string_view text) {
  for (size_t i = text.size() < 3 ? 0 : text.size() - 3; i < text.size();) {
    const Decoded decoded = decode(text, i);
    if (decoded.truncated) return i;
    i += decoded.length;
  }
  return text.size();
}

std::string format_bytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 999.95 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace pippin
