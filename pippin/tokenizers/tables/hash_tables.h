// Two tables that are filled once and then only read. They use open addressing and a power of two
// of slots, of which at least a third are free.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "pippin/tokenizers/tables/json_file.h"
#include "pippin/tokenizers/tables/large_allocator.h"
#include "pippin/tokenizers/tables/text_hash.h"

namespace pippin::tokenizers {

// Transparent hash for tables of strings, for lookups by views.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return hash_of(text); }
};

// Maps tokens to ids, over strings in a pool.
class TokenTable {
 public:
  TokenTable() = default;
  // If a token is listed twice, the later id wins. Ids are not negative.
  TokenTable(const StringPool& tokens, const std::vector<int32_t>& ids);

  int32_t size() const { return size_; }  // distinct tokens
  // Returns -1 if the token is missing.
  int32_t operator[](std::string_view token) const { return find_hashed(token, hash_of(token)); }

  // The same in three steps, to look up many tokens at once: each step prefetches the memory that
  // the next step reads.
  void prefetch(uint64_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[place(hash)]);
  }
  void prefetch_token(uint64_t hash) const {
    if (slots_.empty()) return;
    const Slot& slot = slots_[place(hash)];
    if (slot.size > kShortText) __builtin_prefetch(tokens_->data() + slot.begin());
  }
  int32_t find_hashed(std::string_view token, uint64_t hash) const {
    return slots_.empty() ? -1 : slots_[find(token, hash)].id;
  }

 private:
  // A short token is stored in its slot, a long one in the pool.
  struct Slot {
    uint64_t word = 0;  // short_text() of the token, or its offset in the pool and half of its hash
    uint32_t size = 0;  // of the token
    int32_t id = -1;    // -1: the slot is free

    uint64_t begin() const { return word >> 32; }
    uint32_t hash() const { return static_cast<uint32_t>(word); }
  };
  size_t place(uint64_t hash) const { return (hash >> 32) & (slots_.size() - 1); }
  size_t find(std::string_view token, uint64_t hash) const {
    return token.size() <= kShortText
               ? find(token, hash,
                      [word = short_text(token)](const Slot& slot) { return slot.word == word; })
               : find(token, hash, [&](const Slot& slot) {
                   return slot.hash() == static_cast<uint32_t>(hash) &&
                          same_bytes(tokens_->data() + slot.begin(), token.data(), token.size());
                 });
  }
  template <typename Same>
  size_t find(std::string_view token, uint64_t hash, Same same) const {
    const size_t mask = slots_.size() - 1;
    size_t at = place(hash);
    while (slots_[at].id >= 0 && !(slots_[at].size == token.size() && same(slots_[at]))) {
      at = (at + 1) & mask;
    }
    return at;
  }

  const StringPool* tokens_ = nullptr;
  std::vector<Slot, LargeAllocator<Slot>> slots_;
  int32_t size_ = 0;
};

struct Merge {
  uint32_t rank;
  int32_t id;  // of the merged token
};

// Maps a pair of ids to its merge.
class MergeTable {
 public:
  explicit MergeTable(size_t count = 0) : slots_(std::bit_ceil(count + count / 2 + 2)) {}
  // If a pair is listed twice, the later merge wins.
  void insert(int32_t left, int32_t right, Merge merge) {
    slots_[find(key(left, right))] = {key(left, right), merge};
  }
  // Prefetches a slot, to be called some merges before insert().
  void prefetch(int32_t left, int32_t right) const {
    __builtin_prefetch(&slots_[place(key(left, right))]);
  }
  const Merge* find(int32_t left, int32_t right) const {
    const Slot& slot = slots_[find(key(left, right))];
    return slot.key == kEmpty ? nullptr : &slot.merge;
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};  // ids are not negative
  struct Slot {
    uint64_t key = kEmpty;
    Merge merge{0, -1};
  };
  static uint64_t key(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  size_t place(uint64_t wanted) const {
    return (wanted * 0x9E3779B97F4A7C15u >> 20) & (slots_.size() - 1);
  }
  size_t find(uint64_t wanted) const {
    const size_t mask = slots_.size() - 1;
    size_t at = place(wanted);
    while (slots_[at].key != kEmpty && slots_[at].key != wanted) at = (at + 1) & mask;
    return at;
  }
  std::vector<Slot, LargeAllocator<Slot>> slots_;
};

}  // namespace pippin::tokenizers
