#include "pippin/engine/nodes/node_plan.h"

#include <algorithm>
#include <set>

#include "pippin/engine/nodes/print.h"
#include "pippin/io/json.h"

namespace pippin::engine {
namespace {

// Whether attention has the mask's rows and keys.
bool has_its_places(const View& view, const View& mask) {
  const size_t rows = mask.shape.size() - 2, keys = rows + 1;
  return view.rank() == 4 && view.offset == mask.offset && view.strides[3] == mask.strides[keys] &&
         (view.strides[2] == mask.strides[rows] || view.shape[2] == mil::Dim(1));
}

}  // namespace

bool only_masks_attention(const NodePlan& plan, size_t input) {
  const View& mask = plan.input_views.at(input);
  if (mask.rank() < 2 || mask.storage != Storage::F32) return false;
  bool is_read = false;
  for (const Node& node : plan.nodes) {
    const auto* attention = node.as<AttentionNode>();
    for (size_t i = 0; i < node.views.size(); ++i) {
      if (node.views[i].buffer != mask.buffer) continue;
      is_read = true;
      const bool masks = attention != nullptr && attention->is_masked && i == AttentionNode::kMask;
      if (!masks || !has_its_places(node.views[i], mask)) return false;
    }
  }
  return is_read && std::none_of(plan.output_views.begin(), plan.output_views.end(),
                                 [&](const View& view) { return view.buffer == mask.buffer; });
}

std::vector<std::string> states_outside_recurrences(const NodePlan& plan) {
  std::set<std::string> names;
  for (const Node& node : plan.nodes) {
    const bool recurs = node.as<CausalConvolutionNode>() != nullptr ||
                        node.as<DecayedNode>() != nullptr || node.as<SelectiveNode>() != nullptr ||
                        node.as<LinearRecurrenceNode>() != nullptr;
    for (size_t i = 0; i < node.views.size() && !recurs; ++i) {
      const Buffer& buffer = plan.buffer(node.views[i]);
      if (buffer.kind == Buffer::Kind::State) names.insert(buffer.name);
    }
  }
  return {names.begin(), names.end()};
}

std::string nodes_text(const NodePlan& plan) {
  std::string text;
  for (const Node& node : plan.nodes) text += node_text(node, plan.buffers) + "\n";
  return text;
}

std::string nodes_json(const NodePlan& plan) {
  JsonWriter json;
  json.begin_array();
  for (const Node& node : plan.nodes) write_node(json, node, plan.buffers);
  return json.end_array().text();
}

}  // namespace pippin::engine
