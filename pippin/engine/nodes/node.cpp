#include "pippin/engine/nodes/node.h"

namespace pippin::engine {

size_t writer_of(const std::vector<Node>& nodes, const View& view) {
  for (size_t i = nodes.size(); i-- > 0;) {
    for (size_t k = 0; k < nodes[i].num_written; ++k) {
      if (nodes[i].views[k].buffer == view.buffer) return i;
    }
  }
  return nodes.size();
}

}  // namespace pippin::engine
