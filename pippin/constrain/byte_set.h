// A set of bytes.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace pippin::constrain {

class ByteSet {
 public:
  constexpr ByteSet() = default;
  // The bytes from first to last, inclusive.
  constexpr ByteSet(uint8_t first, uint8_t last) {
    for (unsigned b = first; b <= last; ++b) add(static_cast<uint8_t>(b));
  }
  static constexpr ByteSet all() { return {0, 255}; }

  constexpr void add(uint8_t byte) { words_[byte >> 6] |= uint64_t{1} << (byte & 63); }
  constexpr bool contains(uint8_t byte) const { return (words_[byte >> 6] >> (byte & 63)) & 1; }
  constexpr bool is_empty() const { return *this == ByteSet(); }
  constexpr int size() const {
    int count = 0;
    for (const uint64_t word : words_) count += std::popcount(word);
    return count;
  }
  constexpr const std::array<uint64_t, 4>& words() const { return words_; }

  friend constexpr ByteSet operator|(ByteSet a, const ByteSet& b) {
    for (size_t i = 0; i < 4; ++i) a.words_[i] |= b.words_[i];
    return a;
  }
  friend constexpr ByteSet operator&(ByteSet a, const ByteSet& b) {
    for (size_t i = 0; i < 4; ++i) a.words_[i] &= b.words_[i];
    return a;
  }
  friend constexpr ByteSet operator~(ByteSet a) {
    for (uint64_t& word : a.words_) word = ~word;
    return a;
  }
  friend constexpr bool operator==(const ByteSet&, const ByteSet&) = default;

 private:
  std::array<uint64_t, 4> words_{};
};

}  // namespace pippin::constrain
