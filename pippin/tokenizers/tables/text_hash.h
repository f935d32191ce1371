// Hashes and comparisons of tokens. Most tokens have a few bytes, for which a library call would
// take most of the time.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace pippin::tokenizers {

namespace detail {

template <typename Word>
uint64_t load(const char* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// Two words that distinguish texts of equal size up to 16 bytes; the words may overlap.
struct Words {
  uint64_t first, last;
};
inline Words words_of(const char* text, size_t size) {
  if (size >= 8) return {load<uint64_t>(text), load<uint64_t>(text + size - 8)};
  if (size >= 4) return {load<uint32_t>(text), load<uint32_t>(text + size - 4)};
  if (size == 0) return {0, 0};
  const uint64_t ends = load<uint8_t>(text) << 8 | load<uint8_t>(text + size - 1);
  return {ends, load<uint8_t>(text + size / 2)};
}

// The constants are xxHash's primes.
inline uint64_t mixed(Words words, uint64_t state) {
  uint64_t hash = (words.first ^ state) * 0x9E3779B185EBCA87u;
  hash ^= std::rotl(words.last * 0xC2B2AE3D27D4EB4Fu, 31);
  hash = (hash ^ hash >> 32) * 0x165667B19E3779F9u;
  return hash ^ hash >> 29;
}

}  // namespace detail

// All 64 bits are well mixed.
inline uint64_t hash_of(std::string_view text) {
  const char* at = text.data();
  size_t left = text.size();
  uint64_t state = left;
  for (; left > 16; at += 16, left -= 16) state = detail::mixed(detail::words_of(at, 16), state);
  return detail::mixed(detail::words_of(at, left), state);
}

// A text of up to 8 bytes as a number that is unique among texts of its size.
inline constexpr size_t kShortText = 8;
inline uint64_t short_text(std::string_view text) {
  const detail::Words words = detail::words_of(text.data(), text.size());
  return text.size() == kShortText ? words.first : words.first | words.last << 32;
}

// Compares two texts of equal size.
inline bool same_bytes(const char* a, const char* b, size_t size) {
  if (size > 16) return std::memcmp(a, b, size) == 0;
  const auto left = detail::words_of(a, size), right = detail::words_of(b, size);
  return ((left.first ^ right.first) | (left.last ^ right.last)) == 0;
}

}  // namespace pippin::tokenizers
