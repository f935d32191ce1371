#include "pippin/pipeline/places.h"

#include <algorithm>

namespace pippin::pipeline {
namespace {

using engine::Buffer;
using engine::Node;
using engine::NodePlan;

bool writes_state(const NodePlan& plan, const Node& node) {
  for (size_t i = 0; i < node.num_written; ++i) {
    if (plan.buffer(node.views[i]).kind == Buffer::Kind::State) return true;
  }
  return false;
}

}  // namespace

Uses::Uses(const NodePlan& plan)
    : first(plan.buffers.size()), last(plan.buffers.size()), used(plan.buffers.size()) {
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    for (const engine::View& view : plan.nodes[i].views) add(view, i);
  }
  for (const engine::View& view : plan.output_views) add(view, plan.nodes.size());
}

void Uses::add(const engine::View& view, size_t node) {
  const auto buffer = static_cast<size_t>(view.buffer);
  if (!used[buffer]) first[buffer] = node;
  last[buffer] = node;
  used[buffer] = true;
}

std::vector<int> Uses::alive(const NodePlan& plan, size_t place) const {
  std::vector<int> buffers;
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const bool is_value = plan.buffers[b].kind == Buffer::Kind::Arena && used[b];
    if (is_value && first[b] < place && last[b] >= place) buffers.push_back(static_cast<int>(b));
  }
  return buffers;
}

Places::Places(const engine::CpuPlan& plan) {
  const NodePlan& nodes = plan.node_plan;
  const size_t count = nodes.nodes.size();
  state_writes.assign(count + 1, 0);
  weight_bytes.assign(count + 1, 0);
  live_bytes.assign(count + 1, 0);
  for (size_t i = 0; i < count; ++i) {
    state_writes[i + 1] = state_writes[i] + (writes_state(nodes, nodes.nodes[i]) ? 1 : 0);
    weight_bytes[i + 1] = weight_bytes[i] + plan.steps[i]->weight_bytes();
  }
  const Uses uses(nodes);
  for (size_t b = 0; b < nodes.buffers.size(); ++b) {
    const Buffer& buffer = nodes.buffers[b];
    if (!uses.used[b] || buffer.kind != Buffer::Kind::Arena) continue;
    const auto bytes = static_cast<double>(buffer.elements.upper()) *
                       static_cast<double>(engine::element_size(buffer.storage));
    for (size_t place = uses.first[b] + 1; place <= std::min(uses.last[b], count); ++place) {
      live_bytes[place] += bytes;
    }
  }
}

double Places::share(size_t place) const {
  return static_cast<double>(weight_bytes[place]) /
         static_cast<double>(std::max<int64_t>(weight_bytes.back(), 1));
}

}  // namespace pippin::pipeline
