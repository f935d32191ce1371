#include "pippin/constrain/token_trie.h"

#include <algorithm>
#include <limits>

#include "pippin/base/numbers/ranges.h"

namespace pippin::constrain {

TokenTrie::TokenTrie(std::vector<Entry> entries) {
  constexpr size_t kLongest = std::numeric_limits<uint16_t>::max();
  std::erase_if(entries, [](const Entry& entry) {
    return entry.bytes.empty() || entry.bytes.size() > kLongest;
  });
  ranges::sort(entries, [](const Entry& a, const Entry& b) {
    const int order = a.bytes.compare(b.bytes);
    return order != 0 ? order < 0 : a.token < b.token;
  });
  tokens_.reserve(entries.size());
  std::vector<uint32_t> path;  // the nodes of the previous entry's bytes
  std::string_view before;
  for (const Entry& entry : entries) {
    size_t common = 0;
    while (common < before.size() && common < entry.bytes.size() &&
           before[common] == entry.bytes[common])
      ++common;
    while (path.size() > common) {
      nodes_[path.back()].end = static_cast<uint32_t>(nodes_.size());
      path.pop_back();
    }
    while (path.size() < entry.bytes.size()) {
      const auto byte = static_cast<uint8_t>(entry.bytes[path.size()]);
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back(
          {0, static_cast<uint32_t>(tokens_.size()), 0, static_cast<uint16_t>(path.size()), byte});
    }
    Node& node = nodes_[path.back()];
    if (node.num_tokens == std::numeric_limits<uint16_t>::max()) continue;
    ++node.num_tokens;
    tokens_.push_back(entry.token);
    depth_ = std::max(depth_, entry.bytes.size());
    before = entry.bytes;
  }
  for (const uint32_t node : path) nodes_[node].end = static_cast<uint32_t>(nodes_.size());
}

}  // namespace pippin::constrain
