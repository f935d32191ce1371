// Nodes that a device computes as one.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace pippin::engine {

struct Node;

// Several nodes of a plan in their order, made by a device's own fusions from the finished list.
// views: those that the parts write, in order, then those that they read. scalars: those of the
// parts, in order.
struct FusedNode {
  std::vector<Node> parts;
  // By written view: only these parts read it, so that it may stay unwritten.
  std::vector<bool> is_internal;
};

}  // namespace pippin::engine
