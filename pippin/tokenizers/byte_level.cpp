#include "pippin/tokenizers/byte_level.h"

#include <array>

#include "pippin/base/text.h"

namespace pippin::tokenizers {
namespace {

struct Alphabet {
  std::array<char32_t, 256> character;
  std::array<int16_t, 324> byte;  // by code point, -1 if not in the alphabet

  Alphabet() {
    byte.fill(-1);
    // Printable bytes map to themselves, the others to code points from U+0100 on.
    char32_t next = 256;
    for (int b = 0; b < 256; ++b) {
      const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b != 0xAD);
      const char32_t c = printable ? static_cast<char32_t>(b) : next++;
      character[static_cast<size_t>(b)] = c;
      byte[c] = static_cast<int16_t>(b);
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet instance;
  return instance;
}

}  // namespace

std::string bytes_to_characters(std::string_view bytes) {
  const Alphabet& table = alphabet();
  std::string out;
  out.reserve(bytes.size() + bytes.size() / 4);
  for (const char b : bytes) append_utf8(out, table.character[static_cast<unsigned char>(b)]);
  return out;
}

bool append_bytes_of(std::string_view text, std::string& bytes) {
  const Alphabet& table = alphabet();
  const size_t before = bytes.size();
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const char32_t c = first < 0x80 ? (++i, first) : decode_utf8(text, i);
    if (c >= table.byte.size() || table.byte[c] < 0) {
      bytes.resize(before);
      return false;
    }
    bytes += static_cast<char>(table.byte[c]);
  }
  return true;
}

}  // namespace pippin::tokenizers
