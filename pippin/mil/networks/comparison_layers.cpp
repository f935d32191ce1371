// Comparisons and logic. Results are conditions, which become 1 and 0 where numbers are needed.
#include "pippin/mil/networks/layers.h"
#include "pippin/mil/networks/operands.h"

namespace pippin::mil::networks {
namespace {

struct ComparisonOp {
  std::string_view layer, op;
  uint32_t alpha;  // the field of the number to compare with
};
constexpr ComparisonOp kComparisonOps[] = {
    {"equal", "equal", 1},         {"notEqual", "not_equal", 1},
    {"lessThan", "less", 2},       {"lessEqual", "less_equal", 2},
    {"greaterThan", "greater", 2}, {"greaterEqual", "greater_equal", 2}};

void translate_comparison(Network& network, const Layer& layer) {
  for (const ComparisonOp& known : kComparisonOps) {
    if (known.layer != layer.type) continue;
    if (layer.inputs.size() == 1) {
      Slot x = network.slot(layer, 0);
      if (network.graph.type(x.var) == DataType::Bool) x = network.floats(layer, 0);
      Binding alpha =
          scalar_operand(network, x.var, layer.parameters.number({known.alpha, "alpha"}));
      return network.set(layer, binary(network.graph, known.op, x.var, std::move(alpha)), x);
    }
    require_inputs(layer, 2);
    const Operands operands = number_operands(network, layer);
    Var* result = binary(network.graph, known.op, operands.vars[0], operands.vars[1]);
    return network.set(layer, result, Slot{nullptr, operands.led});
  }
}

void translate_logic(Network& network, const Layer& layer, std::string_view op) {
  require_inputs(layer, 2);
  const Operands operands = truth_operands(network, layer);
  Var* result = binary(network.graph, op, operands.vars[0], operands.vars[1]);
  network.set(layer, result, Slot{nullptr, operands.led});
}
void translate_or(Network& network, const Layer& layer) {
  translate_logic(network, layer, "logical_or");
}
void translate_xor(Network& network, const Layer& layer) {
  translate_logic(network, layer, "logical_xor");
}
void translate_and(Network& network, const Layer& layer) {
  translate_logic(network, layer, "logical_and");
}
void translate_not(Network& network, const Layer& layer) {
  const Slot x = network.slot(layer, 0);
  network.set(layer, unary(network.graph, "logical_not", network.to_truth(x.var)), x);
}

}  // namespace

std::span<const LayerKind> comparison_layers() {
  static constexpr LayerKind kKinds[] = {
      {815, "equal", translate_comparison},       {820, "notEqual", translate_comparison},
      {825, "lessThan", translate_comparison},    {827, "lessEqual", translate_comparison},
      {830, "greaterThan", translate_comparison}, {832, "greaterEqual", translate_comparison},
      {840, "logicalOr", translate_or},           {845, "logicalXor", translate_xor},
      {850, "logicalNot", translate_not},         {855, "logicalAnd", translate_and}};
  return kKinds;
}

}  // namespace pippin::mil::networks
