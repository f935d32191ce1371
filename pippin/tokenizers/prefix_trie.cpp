#include "pippin/tokenizers/prefix_trie.h"

#include <algorithm>

#include "pippin/base/error.h"

namespace pippin::tokenizers {
namespace {

constexpr size_t kMaxNodes = size_t{1} << 24;
constexpr size_t kMaxBytes = 2 << 10;  // a search may read this many bytes at every position

}  // namespace

PrefixTrie::PrefixTrie(std::vector<Entry> entries, std::string_view place) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.first < b.first; });
  // Nodes in the order of their depth. Each is a range of entries with a common prefix.
  struct Range {
    size_t begin, end, depth;
  };
  std::vector<Range> ranges{{0, entries.size(), 0}};
  nodes_.emplace_back();
  for (size_t n = 0; n < ranges.size(); ++n) {
    auto [begin, end, depth] = ranges[n];
    if (depth > kMaxBytes) {
      fail(ErrorCode::LimitExceeded, "{}: a token of more than {} bytes", place, kMaxBytes);
    }
    for (; begin < end && entries[begin].first.size() == depth; ++begin) {
      if (depth > 0) nodes_[n].value = entries[begin].second;
    }
    nodes_[n].first_child = static_cast<uint32_t>(ranges.size());
    while (begin < end) {
      const char byte = entries[begin].first[depth];
      size_t next = begin + 1;
      while (next < end && entries[next].first[depth] == byte) ++next;
      ranges.push_back({begin, next, depth + 1});
      Node node;
      node.byte = static_cast<unsigned char>(byte);
      nodes_.push_back(node);
      ++nodes_[n].children;
      begin = next;
    }
    if (nodes_.size() > kMaxNodes) {
      fail(ErrorCode::LimitExceeded, "{}: the tokens need a tree of more than {} nodes", place,
           kMaxNodes);
    }
  }
}

uint32_t PrefixTrie::child(uint32_t parent, unsigned char byte) const {
  uint32_t low = nodes_[parent].first_child;
  uint32_t count = nodes_[parent].children;
  while (count > 0) {
    const uint32_t half = count / 2;
    const unsigned char middle = nodes_[low + half].byte;
    if (middle == byte) return low + half;
    if (middle < byte) {
      low += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return 0;
}

}  // namespace pippin::tokenizers
