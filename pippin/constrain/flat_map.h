// An open-addressing map from 64-bit keys to 32-bit values. A walk over a vocabulary looks up
// millions of keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pippin::constrain {

class FlatMap {
 public:
  // Returns null if the key is missing. The pointer is valid until the next insertion.
  const uint32_t* find(uint64_t key) const {
    if (slots_.empty()) return nullptr;
    for (size_t i = place(key);; i = (i + 1) & (slots_.size() - 1)) {
      if (!slots_[i].is_used) return nullptr;
      if (slots_[i].key == key) return &slots_[i].value;
    }
  }

  // Inserts a key that is not in the map.
  void insert(uint64_t key, uint32_t value) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    put({key, value, true});
    ++size_;
  }

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t value = 0;
    bool is_used = false;
  };

  size_t place(uint64_t key) const {
    return (key * 0x9e3779b97f4a7c15 >> 20) & (slots_.size() - 1);
  }
  void put(const Slot& slot) {
    size_t i = place(slot.key);
    while (slots_[i].is_used) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = slot;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.is_used) put(slot);
    }
  }

  std::vector<Slot> slots_;  // a power of two
  size_t size_ = 0;
};

}  // namespace pippin::constrain
