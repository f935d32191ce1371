// A trie of tokens by their bytes, for walks that skip every token with a rejected prefix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace pippin::constrain {

// The nodes of a trie, depth first: the children of a node come right after it, and its descendants
// end at `end`. The root is not stored.
class TokenTrie {
 public:
  struct Entry {
    std::string_view bytes;  // at least one byte
    int32_t token;
  };
  struct Node {
    uint32_t end;    // one past the last descendant
    uint32_t first;  // index of its first token in tokens()
    uint16_t num_tokens;
    uint16_t depth;  // bytes from the root: 1 for its children
    uint8_t byte;
  };

  TokenTrie() = default;
  // Entries may be in any order, and several may have the same bytes. Entries of more than 2^16 - 1
  // bytes are ignored.
  explicit TokenTrie(std::vector<Entry> entries);

  std::span<const Node> nodes() const { return nodes_; }
  std::span<const int32_t> tokens(const Node& node) const {
    return tokens().subspan(node.first, node.num_tokens);
  }
  // The tokens of all nodes, in order.
  std::span<const int32_t> tokens() const { return tokens_; }
  // The tokens of a node and its descendants.
  std::span<const int32_t> tokens_below(const Node& node) const {
    const size_t end = node.end == nodes_.size() ? tokens_.size() : nodes_[node.end].first;
    return tokens().subspan(node.first, end - node.first);
  }
  size_t depth() const { return depth_; }  // of the deepest node
  size_t bytes() const { return nodes_.size() * sizeof(Node) + tokens_.size() * sizeof(int32_t); }

 private:
  std::vector<Node> nodes_;
  std::vector<int32_t> tokens_;
  size_t depth_ = 0;
};

}  // namespace pippin::constrain
