#include "pippin/engine/nodes/node.h"

#include <utility>

namespace pippin::engine {

Node fuse(std::vector<Node> parts, std::vector<bool> is_internal) {
  Node node{CopyNode{}, {}, 0, {}};
  size_t views = 0;
  for (const Node& part : parts) views += part.views.size();
  node.views.reserve(views);
  for (const bool written : {true, false}) {
    for (const Node& part : parts) {
      for (size_t i = 0; i < part.views.size(); ++i) {
        if ((i < part.num_written) != written) continue;
        node.views.push_back(part.views[i]);
        node.num_written += written ? 1 : 0;
      }
    }
  }
  for (const Node& part : parts) {
    node.scalars.insert(node.scalars.end(), part.scalars.begin(), part.scalars.end());
  }
  node.kind = FusedNode{std::move(parts), std::move(is_internal)};
  return node;
}

std::span<const int64_t> scalars_of_part(const FusedNode& node, size_t part,
                                         std::span<const int64_t> all) {
  size_t first = 0;
  for (size_t i = 0; i < part; ++i) first += node.parts[i].scalars.size();
  return all.subspan(first, node.parts[part].scalars.size());
}

size_t writer_of(const std::vector<Node>& nodes, const View& view) {
  for (size_t i = nodes.size(); i-- > 0;) {
    for (size_t k = 0; k < nodes[i].num_written; ++k) {
      if (nodes[i].views[k].buffer == view.buffer) return i;
    }
  }
  return nodes.size();
}

}  // namespace pippin::engine
