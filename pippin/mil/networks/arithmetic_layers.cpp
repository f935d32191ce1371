// Layers that combine tensors element by element.
#include "pippin/base/error.h"
#include "pippin/mil/networks/layers.h"
#include "pippin/mil/networks/operands.h"

namespace pippin::mil::networks {
namespace {

void set_result(Network& network, const Layer& layer, Var* result, bool led) {
  network.set(layer, result, Slot{nullptr, led});
}

Var* folded(Graph& graph, std::string_view op, const Operands& operands) {
  Var* result = operands.vars.front();
  for (size_t i = 1; i < operands.vars.size(); ++i) {
    result = binary(graph, op, result, operands.vars[i]);
  }
  return result;
}

// One input and the number alpha, or any number of inputs.
void translate_many(Network& network, const Layer& layer, std::string_view op) {
  if (layer.inputs.size() == 1) {
    Slot x = network.slot(layer, 0);
    const float alpha = layer.parameters.number({1, "alpha"});
    if (network.graph.type(x.var) == DataType::Bool) x = network.floats(layer, 0);
    Binding operand = scalar_operand(network, x.var, alpha);
    return network.set(layer, binary(network.graph, op, x.var, std::move(operand)), x);
  }
  const Operands operands = number_operands(network, layer);
  set_result(network, layer, folded(network.graph, op, operands), operands.led);
}

void translate_add(Network& network, const Layer& layer) {
  translate_many(network, layer, "add");
}
void translate_multiply(Network& network, const Layer& layer) {
  translate_many(network, layer, "mul");
}

void translate_average(Network& network, const Layer& layer) {
  const Operands operands = real_operands(network, layer);
  Var* sum = folded(network.graph, "add", operands);
  const auto count = static_cast<float>(operands.vars.size());
  set_result(network, layer, binary(network.graph, "real_div", sum, number(count)), operands.led);
}

void translate_max(Network& network, const Layer& layer) {
  const Operands operands = number_operands(network, layer);
  set_result(network, layer, folded(network.graph, "maximum", operands), operands.led);
}
void translate_min(Network& network, const Layer& layer) {
  const Operands operands = number_operands(network, layer);
  set_result(network, layer, folded(network.graph, "minimum", operands), operands.led);
}

struct BinaryOp {
  std::string_view layer, op;
  bool of_integers;  // gives the same result for whole numbers
};
constexpr BinaryOp kBinaryOps[] = {{"modBroadcastable", "mod", true},
                                   {"minBroadcastable", "minimum", true},
                                   {"maxBroadcastable", "maximum", true},
                                   {"addBroadcastable", "add", true},
                                   {"powBroadcastable", "pow", false},
                                   {"divideBroadcastable", "real_div", false},
                                   {"floorDivBroadcastable", "floor_div", true},
                                   {"multiplyBroadcastable", "mul", true},
                                   {"subtractBroadcastable", "sub", true}};

void translate_binary(Network& network, const Layer& layer) {
  require_inputs(layer, 2);
  for (const BinaryOp& known : kBinaryOps) {
    if (known.layer != layer.type) continue;
    const Operands operands =
        known.of_integers ? number_operands(network, layer) : real_operands(network, layer);
    return set_result(network, layer, folded(network.graph, known.op, operands), operands.led);
  }
}

}  // namespace

std::span<const LayerKind> arithmetic_layers() {
  static constexpr LayerKind kKinds[] = {{230, "add", translate_add},
                                         {231, "multiply", translate_multiply},
                                         {240, "average", translate_average},
                                         {260, "max", translate_max},
                                         {261, "min", translate_min},
                                         {865, "modBroadcastable", translate_binary},
                                         {870, "minBroadcastable", translate_binary},
                                         {875, "maxBroadcastable", translate_binary},
                                         {880, "addBroadcastable", translate_binary},
                                         {885, "powBroadcastable", translate_binary},
                                         {890, "divideBroadcastable", translate_binary},
                                         {895, "floorDivBroadcastable", translate_binary},
                                         {900, "multiplyBroadcastable", translate_binary},
                                         {905, "subtractBroadcastable", translate_binary}};
  return kKinds;
}

}  // namespace pippin::mil::networks
