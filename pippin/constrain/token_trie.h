// Tokens by their bytes, for walks that leave out whatever begins wrongly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace pippin::constrain {

// The nodes of a trie, depth first: the children of a node come right behind it, and all that is
// below it ends at `end`. The root is not among them.
class TokenTrie {
 public:
  struct Entry {
    std::string_view bytes;  // at least one
    int32_t token;
  };
  struct Node {
    uint32_t end;    // behind the last node below this one
    uint32_t first;  // its tokens, in tokens()
    uint16_t num_tokens;
    uint16_t depth;  // bytes from the root: 1 for its children
    uint8_t byte;
  };

  TokenTrie() = default;
  // In any order; several may have the same bytes. Of longer ones than 2^16 - 1 bytes none counts.
  explicit TokenTrie(std::vector<Entry> entries);

  std::span<const Node> nodes() const { return nodes_; }
  std::span<const int32_t> tokens(const Node& node) const {
    return tokens().subspan(node.first, node.num_tokens);
  }
  // Of all nodes, in their order.
  std::span<const int32_t> tokens() const { return tokens_; }
  // Those of a node and of all below it.
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
