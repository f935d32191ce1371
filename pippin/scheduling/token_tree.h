// A radix tree over tokens with the data that a model computed for each range: the rows of its
// tokens, and the rest after the last of them (runtime/sequence_rows.h). Texts that begin with the
// same tokens share them. Each item may be in memory, in a file, or in both.
//
// by_use() orders items by their last use. Using a node uses the nodes above it as well, so rows
// further down are never more recent.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "pippin/runtime/sequence_rows.h"
#include "pippin/scheduling/cache_file.h"

namespace pippin::scheduling {

enum class ItemKind : uint8_t { Rest, Rows };

// Rows or a rest.
struct Item {
  runtime::SequenceRest content;  // rows have no parts; without bytes: not in memory
  std::shared_ptr<CacheFile> file;
  uint64_t last_use = 0;

  bool is_in_memory() const { return content.bytes != nullptr; }
  bool is_on_disk() const { return file != nullptr && file->state == CacheFile::State::Written; }
  bool is_being_written() const {
    return file != nullptr && file->state == CacheFile::State::Pending;
  }
  bool is_there() const { return is_in_memory() || is_on_disk(); }
};

// A text that grew token by token is a chain of as many nodes, so no function recurses along it.
struct TokenNode {
  TokenNode() = default;
  TokenNode(const TokenNode&) = delete;
  TokenNode& operator=(const TokenNode&) = delete;
  ~TokenNode();

  TokenNode* parent = nullptr;
  int64_t begin = 0;            // position of its first token in the text
  std::vector<int32_t> tokens;  // empty in the root only
  std::map<int32_t, std::unique_ptr<TokenNode>> children;  // by their first token
  Item rows, rest;

  int64_t size() const { return std::ssize(tokens); }
  int64_t end() const { return begin + size(); }
  Item& item(ItemKind kind) { return kind == ItemKind::Rows ? rows : rest; }
  std::vector<int32_t> all_tokens() const;  // from the root on
};

class TokenTree {
 public:
  explicit TokenTree(runtime::RowLayout layout) : layout_(std::move(layout)) {}
  TokenTree(const TokenTree&) = delete;
  TokenTree& operator=(const TokenTree&) = delete;

  const runtime::RowLayout& layout() const { return layout_; }
  bool has_rows() const { return !layout_.parts.empty(); }

  // The path of nodes that match the text, from the root's child on; `length` may end within the
  // last one.
  struct Match {
    std::vector<TokenNode*> path;
    int64_t length = 0;  // in tokens
  };
  Match match(std::span<const int32_t> tokens);
  // The token that follows a match in the tree instead of the text's, the most recently used one;
  // -1: none.
  int32_t next_token(const Match& match) const;

  // Returns a node that ends where the tokens end, by splitting another one or adding it. Throws
  // LimitExceeded.
  TokenNode& node_at(std::span<const int32_t> tokens);
  // Sets the rows of the node, or the rest after it.
  void put(TokenNode& node, ItemKind kind, runtime::SequenceRest content);
  void drop(TokenNode& node, ItemKind kind);  // from memory
  // Marks the rows of the nodes, a path from the root, as used now.
  void touch(std::span<TokenNode* const> path);
  void touch_rest(TokenNode& node);
  // Removes the node and those above it that have neither items nor children.
  void prune(TokenNode* node);
  void prune_all();

  struct Key {
    uint64_t last_use;
    ItemKind kind;
    int64_t minus_begin;  // deepest first
    TokenNode* node;
    bool operator<(const Key& other) const {
      return std::tie(last_use, kind, minus_begin, node) <
             std::tie(other.last_use, other.kind, other.minus_begin, other.node);
    }
  };
  // The items in memory, least recently used first.
  const std::set<Key>& by_use() const { return by_use_; }

  uint64_t bytes() const { return bytes_; }     // of items in memory
  int64_t num_nodes() const { return nodes_; }  // without the root

 private:
  static Key key_of(TokenNode& node, ItemKind kind);
  TokenNode& add_child(TokenNode& parent, std::span<const int32_t> tokens);
  TokenNode& split(TokenNode& node, int64_t count);
  void use(TokenNode& node, ItemKind kind, uint64_t time);

  const runtime::RowLayout layout_;
  TokenNode root_;
  std::set<Key> by_use_;
  uint64_t bytes_ = 0, time_ = 0;
  int64_t nodes_ = 0;
};

// The memory of an item, including partly filled pages.
uint64_t memory_of(const Item& item);

}  // namespace pippin::scheduling
