#include "pippin/cuda/launchers/fuse.h"

#include <algorithm>
#include <utility>

#include "pippin/cuda/kernels/parallel_moves_args.h"
#include "pippin/engine/nodes/view.h"

namespace pippin::cuda {
namespace {

using engine::Buffer;
using engine::CopyNode;
using engine::DotNode;
using engine::GateNode;
using engine::Node;
using engine::NodePlan;
using engine::RmsNormNode;
using engine::RotaryNode;
using engine::View;

class Fuser {
 public:
  explicit Fuser(NodePlan plan) : plan_(std::move(plan)), reads_(plan_.buffers.size()) {
    for (const Node& node : plan_.nodes) {
      for (size_t i = node.num_written; i < node.views.size(); ++i) ++reads_of(node.views[i]);
    }
    for (const View& view : plan_.output_views) ++reads_of(view);
  }

  NodePlan run() {
    std::vector<Node> nodes = std::move(plan_.nodes);
    std::vector<Node> fused;
    fused.reserve(nodes.size());
    for (size_t i = 0; i < nodes.size();) {
      const size_t count = std::max(product_group(nodes, i), move_group(nodes, i));
      fused.push_back(count < 2 ? std::move(nodes[i]) : group(nodes, i, count));
      i += std::max<size_t>(count, 1);
    }
    plan_.nodes = std::move(fused);
    return std::move(plan_);
  }

 private:
  size_t& reads_of(const View& view) { return reads_[static_cast<size_t>(view.buffer)]; }
  bool is_read_once(const View& view) {
    return plan_.buffer(view).kind == Buffer::Kind::Arena && reads_of(view) == 1;
  }

  Node group(std::vector<Node>& nodes, size_t first, size_t count) {
    std::vector<Node> parts;
    parts.reserve(count);
    for (size_t i = first; i < first + count; ++i) parts.push_back(std::move(nodes[i]));
    std::vector<bool> is_internal;
    is_internal.reserve(2 * count);
    for (const Node& part : parts) {
      for (size_t i = 0; i < part.num_written; ++i) {
        const View& written = part.views[i];
        is_internal.push_back(is_read_once(written) && reads_inside(parts, written));
      }
    }
    return engine::fuse(std::move(parts), std::move(is_internal));
  }
  static bool reads_inside(const std::vector<Node>& parts, const View& written) {
    for (const Node& part : parts) {
      for (size_t i = part.num_written; i < part.views.size(); ++i) {
        if (part.views[i].buffer == written.buffer) return true;
      }
    }
    return false;
  }

  // The number of nodes from `first` on that are a norm, products and a gate. Views of the gate
  // become matrices.
  size_t product_group(std::vector<Node>& nodes, size_t first) {
    size_t next = first;
    if (nodes[next].as<RmsNormNode>() != nullptr) ++next;
    if (next == nodes.size() || nodes[next].as<DotNode>() == nullptr) return 0;
    const Node& dot = nodes[next];
    if (next > first) {
      const View& normalized = nodes[first].views[0];
      if (!is_read_once(normalized) || !same_elements(normalized, dot.x())) return 0;
    }
    ++next;
    if (next < nodes.size() && takes_gate(dot, nodes[next])) ++next;
    return next - first;
  }

  bool takes_gate(const Node& dot, Node& gate) {
    const DotNode& product = *dot.as<DotNode>();
    if (gate.as<GateNode>() == nullptr || product.products.size() != 2 || product.has_residual) {
      return false;
    }
    std::vector<View> matrices;
    matrices.reserve(3);
    for (const View& view : gate.views) {
      auto matrix = engine::reshape_view(view, dot.views[0].shape);
      if (!matrix) return false;
      matrices.push_back(std::move(*matrix));
    }
    for (size_t i = 0; i < 2; ++i) {
      if (!is_read_once(dot.views[i]) || !same_elements(dot.views[i], matrices[i + 1])) {
        return false;
      }
    }
    gate.views = std::move(matrices);
    return true;
  }

  // The number of rotary embeddings and copies from `first` on that may run at the same time.
  size_t move_group(const std::vector<Node>& nodes, size_t first) {
    size_t next = first, moves = 0;
    for (; next < nodes.size(); ++next) {
      const Node& node = nodes[next];
      if (node.as<RotaryNode>() == nullptr && node.as<CopyNode>() == nullptr) break;
      const std::span group(nodes.data() + first, next - first);
      const bool joins = stores_turned(group, node);
      moves += joins ? 0 : 1;
      if (moves > ParallelMovesArgs::kMost || (!joins && depends(group, node))) break;
    }
    return next - first;
  }

  // Whether it copies all that an embedding of the group computes, which nothing else reads.
  bool stores_turned(std::span<const Node> group, const Node& copy) {
    if (copy.as<CopyNode>() == nullptr || !is_read_once(copy.x())) return false;
    const auto turned = std::find_if(group.begin(), group.end(), [&](const Node& node) {
      return node.as<RotaryNode>() != nullptr && node.views[0].buffer == copy.x().buffer;
    });
    return turned != group.end() && turned->views[0].offset == copy.x().offset &&
           num_elements(turned->views[0].shape) == num_elements(copy.x().shape) &&
           !writes_what_is_used(group, copy);
  }
  // States may be written at several places; launchers look whether these overlap.
  bool writes_what_is_used(std::span<const Node> group, const Node& node) {
    const View& written = node.views[0];
    return plan_.buffer(written).kind != Buffer::Kind::State && uses(group, written, 0);
  }
  bool depends(std::span<const Node> group, const Node& node) {
    for (size_t i = 1; i < node.views.size(); ++i) {
      for (const Node& other : group) {
        if (other.views[0].buffer == node.views[i].buffer) return true;
      }
    }
    return writes_what_is_used(group, node);
  }
  static bool uses(std::span<const Node> group, const View& view, size_t first_view) {
    for (const Node& node : group) {
      for (size_t i = first_view; i < node.views.size(); ++i) {
        if (node.views[i].buffer == view.buffer) return true;
      }
    }
    return false;
  }

  NodePlan plan_;
  std::vector<size_t> reads_;  // by buffer
};

}  // namespace

engine::NodePlan fuse_nodes(engine::NodePlan plan) {
  return Fuser(std::move(plan)).run();
}

}  // namespace pippin::cuda
