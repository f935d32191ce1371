#include "pippin/scheduling/token_tree.h"

#include <algorithm>
#include <utility>

namespace pippin::scheduling {

uint64_t memory_of(const Item& item) {
  return item.is_in_memory() ? item.content.bytes->memory() : 0;
}

namespace {

// The size of a node with its entries in the parent and in the order of use.
constexpr uint64_t kNodeBytes = sizeof(TokenNode) + 200;

// The memory of a node with its items; nodes whose items are only on disk do not count.
uint64_t memory_of(const TokenNode& node) {
  const uint64_t items = memory_of(node.rows) + memory_of(node.rest);
  return items == 0 ? 0 : items + kNodeBytes + node.tokens.size() * sizeof(int32_t);
}

bool leads_nowhere(const TokenNode& node) {
  const auto has = [](const Item& item) { return item.is_there() || item.is_being_written(); };
  return node.children.empty() && !has(node.rows) && !has(node.rest);
}

int64_t common_prefix(std::span<const int32_t> a, std::span<const int32_t> b) {
  const size_t most = std::min(a.size(), b.size());
  return std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(most), b.begin()).first -
         a.begin();
}

}  // namespace

// Destroys leaves first, without allocation: each node's parent is found through its map.
TokenNode::~TokenNode() {
  TokenNode* node = this;
  while (!children.empty()) {
    while (!node->children.empty()) node = node->children.begin()->second.get();
    node = node->parent;
    node->children.erase(node->children.begin());
  }
}

std::vector<int32_t> TokenNode::all_tokens() const {
  std::vector<int32_t> result(static_cast<size_t>(end()));
  for (const TokenNode* node = this; node != nullptr; node = node->parent) {
    std::copy(node->tokens.begin(), node->tokens.end(), result.begin() + node->begin);
  }
  return result;
}

TokenTree::Key TokenTree::key_of(TokenNode& node, ItemKind kind) {
  return {node.item(kind).last_use, kind, -node.begin, &node};
}

TokenTree::Match TokenTree::match(std::span<const int32_t> tokens) {
  Match match;
  TokenNode* node = &root_;
  while (match.length < std::ssize(tokens)) {
    const auto left = tokens.subspan(static_cast<size_t>(match.length));
    const auto child = node->children.find(left.front());
    if (child == node->children.end()) break;
    node = child->second.get();
    const int64_t same = common_prefix(node->tokens, left);
    match.path.push_back(node);
    match.length += same;
    if (same < node->size()) break;
  }
  return match;
}

int32_t TokenTree::next_token(const Match& match) const {
  const TokenNode& last = match.path.empty() ? root_ : *match.path.back();
  if (match.length < last.end()) return last.tokens[static_cast<size_t>(match.length - last.begin)];
  const TokenNode* newest = nullptr;
  for (const auto& [token, child] : last.children) {
    if (newest == nullptr || child->rows.last_use > newest->rows.last_use) newest = child.get();
  }
  return newest == nullptr ? -1 : newest->tokens.front();
}

TokenNode& TokenTree::node_at(std::span<const int32_t> tokens) {
  const Match found = match(tokens);
  TokenNode* node = found.path.empty() ? &root_ : found.path.back();
  if (found.length < node->end()) node = &split(*node, found.length - node->begin);
  if (found.length == std::ssize(tokens)) return *node;
  return add_child(*node, tokens.subspan(static_cast<size_t>(found.length)));
}

TokenNode& TokenTree::add_child(TokenNode& parent, std::span<const int32_t> tokens) {
  auto node = std::make_unique<TokenNode>();
  node->parent = &parent;
  node->begin = parent.end();
  node->tokens.assign(tokens.begin(), tokens.end());
  node->rows.last_use = parent.rows.last_use;
  TokenNode& result = *node;
  parent.children.emplace(tokens.front(), std::move(node));
  ++nodes_;
  return result;
}

// Returns the node with the first `count` tokens; `node` keeps the others and the rest.
TokenNode& TokenTree::split(TokenNode& node, int64_t count) {
  const auto at = static_cast<size_t>(count);
  auto upper = std::make_unique<TokenNode>();
  upper->parent = node.parent;
  upper->begin = node.begin;
  upper->tokens.assign(node.tokens.begin(), node.tokens.begin() + count);
  upper->rows.file = node.rows.file;
  upper->rows.last_use = node.rows.last_use;
  std::shared_ptr<runtime::RowMemory> high, low;
  if (node.rows.is_in_memory()) {
    const uint64_t row = layout_.row_bytes();
    const runtime::RowPiece all{node.rows.content.bytes->bytes(), node.size(), 0, count};
    const runtime::RowPiece rest{all.bytes, node.size(), count, node.size() - count};
    high = std::make_shared<runtime::RowMemory>(static_cast<uint64_t>(all.count) * row);
    low = std::make_shared<runtime::RowMemory>(static_cast<uint64_t>(rest.count) * row);
    runtime::cut_piece(layout_, all, high->bytes());
    runtime::cut_piece(layout_, rest, low->bytes());
  }

  // From here on only small allocations can fail.
  by_use_.erase(key_of(node, ItemKind::Rows));
  by_use_.erase(key_of(node, ItemKind::Rest));
  bytes_ -= memory_of(node);
  TokenNode& result = *upper;
  auto& place = node.parent->children.at(node.tokens.front());
  upper->children.emplace(node.tokens[at], std::move(place));
  place = std::move(upper);
  node.parent = &result;
  node.begin += count;
  node.tokens.erase(node.tokens.begin(), node.tokens.begin() + count);
  if (high != nullptr) {
    result.rows.content.bytes = std::move(high);
    node.rows.content.bytes = std::move(low);
    by_use_.insert(key_of(result, ItemKind::Rows));
    by_use_.insert(key_of(node, ItemKind::Rows));
  }
  if (node.rest.is_in_memory()) by_use_.insert(key_of(node, ItemKind::Rest));
  bytes_ += memory_of(node) + memory_of(result);
  ++nodes_;
  return result;
}

void TokenTree::put(TokenNode& node, ItemKind kind, runtime::SequenceRest content) {
  drop(node, kind);
  bytes_ -= memory_of(node);
  node.item(kind).content = std::move(content);
  by_use_.insert(key_of(node, kind));
  bytes_ += memory_of(node);
}

void TokenTree::drop(TokenNode& node, ItemKind kind) {
  Item& item = node.item(kind);
  if (!item.is_in_memory()) return;
  by_use_.erase(key_of(node, kind));
  bytes_ -= memory_of(node);
  item.content.bytes.reset();
  bytes_ += memory_of(node);
}

void TokenTree::use(TokenNode& node, ItemKind kind, uint64_t time) {
  Item& item = node.item(kind);
  if (item.last_use == time) return;
  const bool is_listed = item.is_in_memory();
  if (is_listed) by_use_.erase(key_of(node, kind));
  item.last_use = time;
  if (is_listed) by_use_.insert(key_of(node, kind));
}

void TokenTree::touch(std::span<TokenNode* const> path) {
  ++time_;
  for (TokenNode* const node : path) use(*node, ItemKind::Rows, time_);
}

// Marks the rest as used when the rows were used last.
void TokenTree::touch_rest(TokenNode& node) {
  use(node, ItemKind::Rest, node.rows.last_use);
}

void TokenTree::prune(TokenNode* node) {
  while (node != &root_ && leads_nowhere(*node)) {
    TokenNode* const parent = node->parent;
    --nodes_;
    parent->children.erase(node->tokens.front());
    node = parent;
  }
}

void TokenTree::prune_all() {
  std::vector<TokenNode*> nodes;  // parents first
  for (auto& [token, child] : root_.children) nodes.push_back(child.get());
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (auto& [token, child] : nodes[i]->children) nodes.push_back(child.get());
  }
  for (size_t i = nodes.size(); i-- > 0;) {
    TokenNode& node = *nodes[i];
    if (!leads_nowhere(node)) continue;
    --nodes_;
    node.parent->children.erase(node.tokens.front());
  }
}

}  // namespace pippin::scheduling
