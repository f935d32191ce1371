// Two tables that are filled once and then only read: open addressing, a power of two of slots, at
// most half of them used.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "pippin/tokenizers/json_file.h"

namespace pippin::tokenizers {

// For hash tables of strings that are looked up by views.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

// Token to id, over strings that live in a pool.
class TokenTable {
 public:
  TokenTable() = default;
  // Where a token is listed twice, the later id holds.
  TokenTable(const StringPool& tokens, const std::vector<int32_t>& ids)
      : tokens_(&tokens), slots_(std::bit_ceil(2 * tokens.size() + 2)) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      const uint64_t hash = hash_of(tokens[i]);
      Slot& slot = slots_[find(tokens[i], hash)];
      if (slot.index < 0) ++size_;
      slot = {static_cast<uint32_t>(hash), static_cast<int32_t>(i), ids[i]};
    }
  }
  int32_t size() const { return size_; }
  // -1 where there is none.
  int32_t operator[](std::string_view token) const { return find_hashed(token, hash_of(token)); }

  // The same in two steps, for many tokens at once: what prefetch() asks for is there by the time
  // that find_hashed() wants it.
  static uint64_t hash_of(std::string_view token) { return std::hash<std::string_view>()(token); }
  void prefetch(uint64_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[(hash >> 32) & (slots_.size() - 1)]);
  }
  int32_t find_hashed(std::string_view token, uint64_t hash) const {
    return slots_.empty() ? -1 : slots_[find(token, hash)].id;
  }

 private:
  struct Slot {
    uint32_t hash = 0;
    int32_t index = -1;
    int32_t id = -1;
  };
  size_t find(std::string_view token, uint64_t hash) const {
    const size_t mask = slots_.size() - 1;
    size_t at = (hash >> 32) & mask;
    while (slots_[at].index >= 0) {
      const Slot& slot = slots_[at];
      if (slot.hash == static_cast<uint32_t>(hash) &&
          (*tokens_)[static_cast<size_t>(slot.index)] == token) {
        break;
      }
      at = (at + 1) & mask;
    }
    return at;
  }

  const StringPool* tokens_ = nullptr;
  std::vector<Slot> slots_;
  int32_t size_ = 0;
};

struct Merge {
  uint32_t rank;
  int32_t id;  // of the merged token
};

// A pair of ids to its merge.
class MergeTable {
 public:
  explicit MergeTable(size_t count = 0) : slots_(std::bit_ceil(2 * count + 2)) {}
  // The later merge of a pair holds.
  void insert(int32_t left, int32_t right, Merge merge) {
    slots_[find(key(left, right))] = {key(left, right), merge};
  }
  // Before insert(), some merges ahead.
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
  std::vector<Slot> slots_;
};

}  // namespace pippin::tokenizers
