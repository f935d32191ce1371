// What one step of a plan computes, as data: made by rules and fusions, rewritten by fusions,
// carried out by a device (the CPU: engine/cpu). A plan is a list of nodes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pippin/engine/nodes/dot.h"
#include "pippin/engine/nodes/lookup.h"
#include "pippin/engine/nodes/move.h"
#include "pippin/engine/nodes/view.h"

namespace pippin::engine {

class Step;

// A step of the CPU that has no node of its own yet.
struct ReadyNode {
  std::shared_ptr<Step> step;
};

// Each says what its views and scalars are.
using NodeKind =
    std::variant<BatchedDotNode, CopyNode, DimsNode, DotNode, QuantizedGatherNode, ReadyNode>;

struct Node {
  NodeKind kind;
  std::vector<View> views;  // written ones first, then those read
  size_t num_written = 1;
  std::vector<mil::Dim> scalars = {};  // numbers that the work depends on and shapes may change

  // The kind, or null where it is another.
  template <typename Kind>
  Kind* as() {
    return std::get_if<Kind>(&kind);
  }
  template <typename Kind>
  const Kind* as() const {
    return std::get_if<Kind>(&kind);
  }
  // The first of the views that are read.
  const View& x() const { return views[num_written]; }
};

// "3 linear int4 + residual", with the kernel where there is one: "linear int4 (avx2, fast)".
std::string node_name(const Node& node, std::string_view kernel = {});

// The index of the last node that writes the view's buffer; the number of nodes without any.
size_t writer_of(const std::vector<Node>& nodes, const View& view);

}  // namespace pippin::engine
