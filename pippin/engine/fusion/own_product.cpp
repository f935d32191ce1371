#include "pippin/engine/fusion/own_product.h"

#include <utility>

#include "pippin/mil/ops/op.h"

namespace pippin::engine {
namespace {

// Whether `var` is a view of a product, or a sum with one, that nothing else reads.
bool is_read_once(const Builder& builder, const mil::Var* var) {
  while (var != nullptr && var->producer != nullptr && builder.read_once(var)) {
    const mil::Operation& operation = *var->producer;
    if (mil::is_product(operation) || operation.type() == "add") return true;
    if (!mil::keeps_elements(operation)) return false;
    var = operation.input_var("x");
  }
  return false;
}

}  // namespace

std::optional<Node> own_product(Builder& builder, const mil::Var* var, const mil::ValueInfo& sum) {
  if (builder.info(var).shape != sum.shape || !is_read_once(builder, var)) return std::nullopt;
  const auto& nodes = builder.nodes();
  const size_t index = writer_of(nodes, builder.view(var));
  const DotNode* dot = index < nodes.size() ? nodes[index].as<DotNode>() : nullptr;
  if (dot == nullptr || dot->has_residual) return std::nullopt;
  return nodes[index];
}

void define_sum(Builder& builder, const mil::Operation& sum, const mil::Var* var, Node node) {
  View result = builder.view(var);
  node.views[0] = builder.allocate(Storage::F32, node.views[0].shape);
  result.buffer = node.views[0].buffer;
  builder.add(std::move(node));
  builder.define_output(sum, result);
}

}  // namespace pippin::engine
