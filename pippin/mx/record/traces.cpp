#include "pippin/mx/record/traces.h"

#include <algorithm>
#include <cstring>
#include <typeinfo>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/mx/core/array.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/core/eval.h"
#include "pippin/mx/core/primitive.h"

namespace pippin::mx {
namespace {

bool available(const Node& node) {
  return node.is_available.load(std::memory_order_acquire);
}

bool same_numbers(const Node& a, const Node& b) {
  if (a.dtype != b.dtype || !(a.shape == b.shape)) return false;
  if (a.data == b.data && a.strides == b.strides) return true;
  std::vector<std::byte> left(static_cast<size_t>(a.bytes())), right(left.size());
  copy_to(a, left.data(), a.dtype);
  copy_to(b, right.data(), b.dtype);
  return left == right;
}

std::string what(const Node& node) {
  if (available(node)) return "a constant of shape " + to_string(node.shape);
  if (!node.primitive) return "an input of shape " + to_string(node.shape);
  return std::string(node.primitive->name()) + " of shape " + to_string(node.shape);
}

bool same_kind(const Node& a, const Node& b) {
  if (a.dtype != b.dtype || available(a) != available(b)) return false;
  if (available(a)) return true;
  if (!a.primitive || !b.primitive) return !a.primitive && !b.primitive;
  const Primitive& one = *a.primitive;
  const Primitive& other = *b.primitive;
  return typeid(one) == typeid(other) && one.name() == other.name() &&
         a.inputs.size() == b.inputs.size() && a.shape.size() == b.shape.size();
}

// The node below operations that only rearrange elements.
const Node* below_arrangement(const Node* node) {
  const auto arranges = [](std::string_view name) {
    return name == "reshape" || name == "broadcast_to" || name == "slice" || name == "transpose";
  };
  while (!available(*node) && node->primitive && node->inputs.size() == 1 &&
         arranges(node->primitive->name())) {
    node = node->inputs[0].get();
  }
  return node;
}

[[noreturn]] void refuse_difference(const Node& a, const Node& b, const std::string& sizes) {
  fail(ErrorCode::Unsupported,
       "export: the function does not do the same for all sizes ({}): here it has {}, there {}",
       sizes, what(a), what(b));
}

}  // namespace

Traces::Traces(std::vector<Roots> roots, const std::string& sizes)
    : roots_(std::move(roots)), sizes_(sizes) {
  for (size_t i = 0; i < roots_[0].size(); ++i) {
    std::vector<Node*> nodes;
    for (const Roots& each : roots_) nodes.push_back(each[i].get());
    visit(nodes);
  }
}

std::vector<const Node*> Traces::all(const Node& node) const {
  const auto found = places_.find(&node);
  if (found == places_.end()) return std::vector<const Node*>(roots_.size(), &node);
  return {found->second.nodes.begin(), found->second.nodes.end()};
}

bool Traces::is_fixed(const Node& node) const {
  const auto found = places_.find(&node);
  return found != places_.end() && found->second.is_fixed;
}

void Traces::check_same(const std::vector<Node*>& nodes) const {
  for (const Node* other : nodes) {
    if (!same_kind(*nodes[0], *other)) refuse_difference(*nodes[0], *other, sizes_);
  }
}

void Traces::visit(const std::vector<Node*>& root) {
  struct Visit {
    std::vector<Node*> nodes;
    size_t next_input = 0;
  };
  std::vector<Visit> stack;
  const auto enter = [&](std::vector<Node*> nodes) {
    const auto found = places_.find(nodes[0]);
    if (found != places_.end()) {
      // One node in the first recording, different ones in the next: constants of the same value.
      for (size_t k = 0; k < nodes.size(); ++k) {
        const Node &known = *found->second.nodes[k], &node = *nodes[k];
        if (&known == &node) continue;
        const bool are_equal = available(known) && available(node) && same_numbers(known, node);
        if (!are_equal) refuse_difference(known, node, sizes_);
      }
      return;
    }
    check_same(nodes);
    places_[nodes[0]].nodes = nodes;
    stack.push_back({std::move(nodes)});
  };
  enter(root);
  while (!stack.empty()) {
    Visit& top = stack.back();
    const Node& first = *top.nodes[0];
    if (!available(first) && top.next_input < first.inputs.size()) {
      std::vector<Node*> inputs;
      for (const Node* node : top.nodes) inputs.push_back(node->inputs[top.next_input].get());
      ++top.next_input;
      enter(std::move(inputs));
    } else {
      classify(places_.at(top.nodes[0]));
      order_.push_back(Ref<Node>::share(top.nodes[0]));
      stack.pop_back();
    }
  }
}

void Traces::classify(Place& place) const {
  const Node& first = *place.nodes[0];
  if (available(first)) {
    place.is_fixed = std::all_of(place.nodes.begin(), place.nodes.end(),
                                 [&](const Node* node) { return same_numbers(first, *node); });
    if (place.is_fixed || first.size == 1) return;
    for (const Node* node : place.nodes) {
      if (same_numbers(first, *node)) continue;
      fail(ErrorCode::Unsupported,
           "export: a constant of shapes {} and {} was made for one size each ({}); it has to be "
           "computed by operations on arrays",
           to_string(first.shape), to_string(node->shape), sizes_);
    }
  }
  if (!first.primitive) {
    place.depends = true;
    return;
  }
  place.is_fixed = true;
  for (size_t i = 0; i < first.inputs.size(); ++i) {
    const Place& input = places_.at(first.inputs[i].get());
    place.depends = place.depends || input.depends;
    place.is_fixed = place.is_fixed && input.is_fixed;
  }
  bool has_same_numbers = true;
  for (const Node* node : place.nodes) {
    has_same_numbers = has_same_numbers && first.primitive->same_as(*node->primitive);
    place.is_fixed = place.is_fixed && node->shape == first.shape;
  }
  place.is_fixed = place.is_fixed && has_same_numbers;
  if (has_same_numbers || first.primitive->records_numbers()) return;
  fail(ErrorCode::Unsupported,
       "export: the numbers of {} depend on the sizes ({}), and it is written with fixed ones",
       what(first), sizes_);
}

void Traces::eval_fixed() const {
  std::vector<Node*> nodes;
  for (const Ref<Node>& node : order_) {
    if (is_fixed(*node) && !available(*node)) nodes.push_back(node.get());
  }
  if (!nodes.empty()) eval_nodes(nodes);
}

void Traces::check_like(const Roots& roots, const std::string& where) const {
  std::unordered_map<const Node*, const Node*> seen;
  std::vector<std::pair<const Node*, const Node*>> stack;
  for (size_t i = roots.size(); i-- > 0;) {
    stack.emplace_back(roots_[0][i].get(), roots[i].get());
  }
  while (!stack.empty()) {
    auto [here, there] = stack.back();
    stack.pop_back();
    if (!same_kind(*here, *there)) {
      here = below_arrangement(here);
      there = below_arrangement(there);
    }
    const auto [known, is_new] = seen.emplace(here, there);
    const bool is_input = !available(*here) && !here->primitive;
    if (is_input && known->second != there) refuse_difference(*here, *there, where);
    if (!is_new || is_fixed(*here)) continue;
    if (!same_kind(*here, *there)) refuse_difference(*here, *there, where);
    if (available(*here)) continue;
    for (size_t i = 0; i < here->inputs.size(); ++i) {
      stack.emplace_back(here->inputs[i].get(), there->inputs[i].get());
    }
  }
}

}  // namespace pippin::mx
