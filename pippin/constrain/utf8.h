// The well-formed UTF-8 sequences (Unicode 15, table 3-7).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pippin::constrain {

struct Utf8Shape {
  uint8_t first, last;                // of the leading byte
  uint8_t second_first, second_last;  // of the second byte
  uint8_t length;                     // further bytes are 80 to BF
};

inline constexpr std::array<Utf8Shape, 9> kUtf8Shapes{{
    {0x00, 0x7F, 0x00, 0x00, 1},
    {0xC2, 0xDF, 0x80, 0xBF, 2},
    {0xE0, 0xE0, 0xA0, 0xBF, 3},
    {0xE1, 0xEC, 0x80, 0xBF, 3},
    {0xED, 0xED, 0x80, 0x9F, 3},
    {0xEE, 0xEF, 0x80, 0xBF, 3},
    {0xF0, 0xF0, 0x90, 0xBF, 4},
    {0xF1, 0xF3, 0x80, 0xBF, 4},
    {0xF4, 0xF4, 0x80, 0x8F, 4},
}};

// Returns the length of the first character of `bytes`; 0 if it is invalid or incomplete.
inline size_t utf8_length(std::string_view bytes) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  for (const Utf8Shape& shape : kUtf8Shapes) {
    if (bytes.empty() || at(0) < shape.first || at(0) > shape.last) continue;
    if (bytes.size() < shape.length) return 0;
    if (shape.length > 1 && (at(1) < shape.second_first || at(1) > shape.second_last)) return 0;
    for (size_t i = 2; i < shape.length; ++i) {
      if (at(i) < 0x80 || at(i) > 0xBF) return 0;
    }
    return shape.length;
  }
  return 0;
}

// Returns the first character of `bytes`, whose length must be utf8_length(bytes) and not 0.
inline char32_t utf8_decode(std::string_view bytes, size_t length) {
  char32_t c = static_cast<uint8_t>(bytes[0]);
  if (length > 1) c &= 0xFFU >> (length + 1);
  for (size_t i = 1; i < length; ++i) c = c << 6 | (static_cast<uint8_t>(bytes[i]) & 0x3FU);
  return c;
}

}  // namespace pippin::constrain
