// For tests only: SentencePiece models of a few pieces, as protobuf bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

namespace pippin::sentencepiece_testing {

inline std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out += static_cast<char>(value);
}
inline std::string number(uint32_t field, uint64_t value) {
  return varint(field << 3) + varint(value);
}
inline std::string bytes(uint32_t field, const std::string& content) {
  return varint(field << 3 | 2) + varint(content.size()) + content;
}
inline std::string piece(const std::string& text, float score, int type = 1) {
  const auto bits = std::bit_cast<uint32_t>(score);
  std::string score_bytes = varint(2 << 3 | 5);
  for (int i = 0; i < 4; ++i) score_bytes += static_cast<char>(bits >> (8 * i));
  return bytes(1, bytes(1, text) + score_bytes + number(3, static_cast<uint64_t>(type)));
}
inline std::string model(const std::string& pieces, int type, bool extra_whitespace) {
  return piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) + pieces +
         bytes(2, number(3, static_cast<uint64_t>(type)) + number(35, 1)) +
         bytes(3, number(3, 1) + number(4, extra_whitespace ? 1 : 0));
}
// Pieces 3 "a", 4 "b", 5 "ab", 6 space mark, 7 and 8 bytes, 9 space mark and "a", 10 user-defined.
inline std::string sample(int type, bool extra_whitespace = false) {
  return model(piece("a", -1) + piece("b", -2) + piece("ab", -2.5F) + piece("\u2581", -3) +
                   piece("<0xC3>", 0, 6) + piece("<0xA9>", 0, 6) +
                   piece("\u2581"
                         "a",
                         -2) +
                   piece("<x>", 0, 4),
               type, extra_whitespace);
}

}  // namespace pippin::sentencepiece_testing
