// A bit for each token of a vocabulary: whether it may come next.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pippin::constrain {

class TokenMask {
 public:
  TokenMask() = default;
  explicit TokenMask(size_t vocab_size) : words_((vocab_size + 63) / 64), vocab_size_(vocab_size) {}

  size_t vocab_size() const { return vocab_size_; }
  bool allows(int32_t token) const {
    const auto i = static_cast<size_t>(token);
    return token >= 0 && i < vocab_size_ && ((words_[i / 64] >> (i % 64)) & 1) != 0;
  }
  void allow(int32_t token) {
    words_[static_cast<size_t>(token) / 64] |= uint64_t{1} << (token % 64);
  }
  void forbid(int32_t token) {
    words_[static_cast<size_t>(token) / 64] &= ~(uint64_t{1} << (token % 64));
  }
  void allow(const TokenMask& other) {  // the masks must have the same vocabulary
    for (size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
  }
  void clear() { words_.assign(words_.size(), 0); }
  size_t count() const {
    size_t count = 0;
    for (const uint64_t word : words_) count += static_cast<size_t>(std::popcount(word));
    return count;
  }
  // Bit i % 64 of word i / 64 stands for token i; bits beyond the vocabulary are 0.
  std::span<const uint64_t> words() const { return words_; }
  friend bool operator==(const TokenMask&, const TokenMask&) = default;

 private:
  std::vector<uint64_t> words_;
  size_t vocab_size_ = 0;
};

}  // namespace pippin::constrain
