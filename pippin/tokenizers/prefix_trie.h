// An immutable set of strings that finds all members at a position of a text, shortest first.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace pippin::tokenizers {

class PrefixTrie {
 public:
  using Entry = std::pair<std::string_view, int32_t>;

  // The last of equal strings counts; empty ones are ignored. Throws LimitExceeded, starting with
  // `place`, if the strings are too long or too many.
  PrefixTrie(std::vector<Entry> entries, std::string_view place);

  // Calls found(value, end) for every string of the set that is text[position, end).
  template <typename Found>
  void prefixes(std::string_view text, size_t position, Found found) const {
    uint32_t at = 0;
    for (size_t i = position; i < text.size(); ++i) {
      at = child(at, static_cast<unsigned char>(text[i]));
      if (at == 0) return;
      if (nodes_[at].value >= 0) found(nodes_[at].value, i + 1);
    }
  }

 private:
  // The children of a node are contiguous, sorted by their bytes.
  struct Node {
    uint32_t first_child = 0;
    uint16_t children = 0;
    unsigned char byte = 0;
    int32_t value = -1;
  };
  uint32_t child(uint32_t parent, unsigned char byte) const;  // 0 if none exists

  std::vector<Node> nodes_;
};

}  // namespace pippin::tokenizers
