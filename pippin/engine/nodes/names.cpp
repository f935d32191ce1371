// How plans name their nodes.
#include "pippin/engine/nodes/node.h"

namespace pippin::engine {
namespace {

std::string with_kernel(std::string name, std::string_view kernel) {
  if (!kernel.empty()) name.append(" (").append(kernel).append(")");
  return name;
}

struct Namer {
  const Node& node;
  std::string_view kernel;

  std::string operator()(const CopyNode&) const {
    const Storage to = node.views[0].storage, from = node.views[1].storage;
    return to == from ? "copy" : "convert " + to_string(from) + " to " + to_string(to);
  }
  std::string operator()(const DimsNode&) const { return "dims"; }
  std::string operator()(const DotNode& dot) const {
    const size_t count = dot.products.size();
    const std::string text = count == 1 ? dot.name : std::to_string(count) + " " + dot.name;
    return with_kernel(text, kernel) + (dot.has_residual ? " + residual" : "");
  }
  std::string operator()(const BatchedDotNode& dot) const { return with_kernel(dot.name, kernel); }
  std::string operator()(const QuantizedGatherNode& gather) const {
    return with_kernel("gather " + gather.form, kernel);
  }
  std::string operator()(const ReadyNode&) const { return "step"; }
};

}  // namespace

std::string node_name(const Node& node, std::string_view kernel) {
  return std::visit(Namer{node, kernel}, node.kind);
}

}  // namespace pippin::engine
