// Queries, keys and values, or gate and up, as one node: a pass over the finished list.
#include <algorithm>
#include <unordered_map>

#include "pippin/engine/fusion/fusion.h"

namespace pippin::engine {
namespace {

// The results of a node are all in memory at once: those of an encoder's states for all layers of a
// decoder would be hundreds of megabytes.
constexpr size_t kMostProducts = 8;

// The operands of a product other than x.
std::span<const View> other_operands(const Node& node) {
  return std::span(node.views).subspan(node.num_written + 1);
}

// Moves the products of `other`, which reads the same x, into `node`.
void absorb(Node& node, const Node& other) {
  const auto results = std::span(other.views).first(other.num_written);
  const auto rest = other_operands(other);
  node.views.insert(node.views.begin() + static_cast<std::ptrdiff_t>(node.num_written),
                    results.begin(), results.end());
  node.views.insert(node.views.end(), rest.begin(), rest.end());
  node.num_written += other.num_written;
  auto& products = node.as<DotNode>()->products;
  const auto& more = other.as<DotNode>()->products;
  products.insert(products.end(), more.begin(), more.end());
}

}  // namespace

void merge_products(std::vector<Node>& nodes, std::span<const Buffer> buffers,
                    const std::function<bool(const DotNode&, const DotNode&)>& shares_input) {
  // Whether the view's elements are known before the first node that writes a result of `node`.
  const auto is_known = [&](const View& view, const Node* node) {
    const Buffer& buffer = buffers[static_cast<size_t>(view.buffer)];
    if (buffer.kind == Buffer::Kind::Constant) return true;
    if (buffer.kind != Buffer::Kind::Arena) return false;
    return writer_of(nodes, view) < static_cast<size_t>(node - nodes.data());
  };
  const auto merges = [&](const Node& first, const Node& node) {
    const DotNode& a = *first.as<DotNode>();
    const DotNode& b = *node.as<DotNode>();
    return a.products.size() + b.products.size() <= kMostProducts && !a.has_residual &&
           !b.has_residual && a.name == b.name && same_elements(first.x(), node.x()) &&
           shares_input(a, b);
  };
  std::unordered_map<int, std::vector<Node*>> by_input;  // the buffer of x
  std::vector<bool> merged(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    Node& node = nodes[i];
    if (node.as<DotNode>() == nullptr) continue;
    // It is computed in the place of the first one: its other operands must be computed by then.
    const auto others = other_operands(node);
    std::vector<Node*>& known = by_input[node.x().buffer];
    const auto first = std::find_if(known.begin(), known.end(), [&](const Node* one) {
      return merges(*one, node) && std::all_of(others.begin(), others.end(), [&](const View& view) {
               return is_known(view, one);
             });
    });
    if (first == known.end()) {
      known.push_back(&node);
    } else {
      absorb(**first, node);
      merged[i] = true;
    }
  }
  size_t i = 0;
  std::erase_if(nodes, [&](const Node&) { return merged[i++]; });
}

}  // namespace pippin::engine
