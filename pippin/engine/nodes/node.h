// One step of a plan as data: made by rules and fusions, rewritten by fusions, executed by a device
// (the CPU: engine/cpu). A plan is a list of nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pippin/engine/nodes/attention.h"
#include "pippin/engine/nodes/dot.h"
#include "pippin/engine/nodes/elementwise.h"
#include "pippin/engine/nodes/fused.h"
#include "pippin/engine/nodes/lookup.h"
#include "pippin/engine/nodes/move.h"
#include "pippin/engine/nodes/planes.h"
#include "pippin/engine/nodes/recurrence.h"
#include "pippin/engine/nodes/reference.h"
#include "pippin/engine/nodes/rows.h"
#include "pippin/engine/nodes/view.h"

namespace pippin::engine {

// Each documents its views and scalars.
using NodeKind =
    std::variant<AffineNode, AllowedNode, ArgNode, AttentionNode, BandNode, BatchedDotNode,
                 BinaryNode, CausalConvolutionNode, CodeNode, CompareNode, CopyNode, CropNode,
                 CumulativeSumNode, DecayedNode, DimsNode, DotNode, ExpertsNode, FillNode, FoldNode,
                 FusedNode, GatherNode, GateNode, HadamardNode, L2NormNode, InstanceNormNode,
                 LayerNormNode, LinearRecurrenceNode, LocalResponseNode, LogicNode, MapNode,
                 MaskSummaryNode, NarrowNode, OneHotNode, PackConvNode, PairNode, PickNode,
                 PlaneNode, QuantizedGatherNode, RangeNode, RecurrentNode, ReduceNode,
                 ReferenceNode, ResampleNode, ReverseSequenceNode, RmsNormNode, RotaryNode,
                 ScatterNode, SelectiveNode, SelectNode, SoftmaxNode, SortNode, StackedDotNode,
                 StoreCacheNode, SuppressionNode, UnaryNode>;

struct Node {
  NodeKind kind;
  std::vector<View> views;  // written ones first, then those read
  size_t num_written = 1;
  std::vector<mil::Dim> scalars = {};  // numbers that the work depends on and that change with
                                       // shapes

  // The kind's data, or null for another kind.
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

// "3 linear int4 + residual", with the kernel if there is one: "linear int4 (avx2, fast)".
std::string node_name(const Node& node, std::string_view kernel = {});

// The parts as a FusedNode.
Node fuse(std::vector<Node> parts, std::vector<bool> is_internal);

// Of operands in the order of a fused node's views, those of a part.
template <typename T>
std::vector<T> part_of(const FusedNode& node, size_t part, std::span<const T> all) {
  size_t written = 0, read = 0;
  for (const Node& each : node.parts) read += each.num_written;
  for (size_t i = 0; i < part; ++i) {
    written += node.parts[i].num_written;
    read += node.parts[i].views.size() - node.parts[i].num_written;
  }
  const Node& one = node.parts[part];
  const auto first = all.subspan(written, one.num_written);
  const auto rest = all.subspan(read, one.views.size() - one.num_written);
  std::vector<T> found(first.begin(), first.end());
  found.insert(found.end(), rest.begin(), rest.end());
  return found;
}
// Of a fused node's scalars, those of a part.
std::span<const int64_t> scalars_of_part(const FusedNode& node, size_t part,
                                         std::span<const int64_t> all);

// The index of the last node that writes the view's buffer; the number of nodes if none does.
size_t writer_of(const std::vector<Node>& nodes, const View& view);

}  // namespace pippin::engine
