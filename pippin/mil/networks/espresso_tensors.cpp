// Layers of compiled networks that have no weights.
#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/mil/networks/espresso_layers.h"

namespace pippin::mil::networks {
namespace {

// All inputs, with the axes that they share.
struct EspressoOperands {
  std::vector<Var*> vars;
  bool led = false;
};

EspressoOperands espresso_operands(Network& network, const EspressoLayer& layer) {
  EspressoOperands operands;
  std::vector<Slot> slots;
  for (size_t i = 0; i < layer.inputs.size(); ++i) {
    slots.push_back(espresso_input(network, layer, i));
  }
  operands.led = std::all_of(slots.begin(), slots.end(), [](const Slot& slot) { return slot.led; });
  for (const Slot& slot : slots) {
    operands.vars.push_back(operands.led ? slot.var : network.full(slot));
  }
  if (operands.vars.empty()) fail(ErrorCode::InvalidFile, "no inputs");
  return operands;
}

// Operations of two tensors, of a tensor and alpha, and of one tensor.
struct ElementwiseCode {
  int64_t code;
  std::string_view op;
};
constexpr ElementwiseCode kOfTensors[] = {{0, "add"},       {1, "mul"},      {13, "pow"},
                                          {22, "minimum"},  {23, "maximum"}, {33, "sub"},
                                          {102, "real_div"}};
constexpr ElementwiseCode kOfAlpha[] = {{2, "add"}, {3, "mul"}};
constexpr ElementwiseCode kOfOne[] = {{24, "abs"},   {27, "exp"},  {35, "exp2"}, {37, "round"},
                                      {38, "sign"},  {114, "cos"}, {115, "sin"}, {117, "floor"},
                                      {118, "ceil"}, {121, "tan"}, {124, "tanh"}};

std::string_view find_code(std::span<const ElementwiseCode> codes, int64_t code) {
  const auto found = std::find_if(codes.begin(), codes.end(),
                                  [&](const ElementwiseCode& one) { return one.code == code; });
  return found == codes.end() ? std::string_view() : found->op;
}

Var* elementwise(Network& network, const EspressoLayer& layer, const EspressoOperands& operands) {
  Graph& graph = network.graph;
  const int64_t code = layer.number("operation");
  Var* x = operands.vars.front();
  if (operands.vars.size() > 1) {
    const std::string_view op = find_code(kOfTensors, code);
    if (op.empty()) fail(ErrorCode::Unsupported, "operation {} of tensors", code);
    for (size_t i = 1; i < operands.vars.size(); ++i) x = binary(graph, op, x, operands.vars[i]);
    return x;
  }
  if (code == 119) {
    return graph.add("clip", {{"x", {x}},
                              {"alpha", {number(layer.real("alpha"))}},
                              {"beta", {number(layer.real("beta"))}}});
  }
  if (const std::string_view op = find_code(kOfAlpha, code); !op.empty()) {
    return binary(graph, op, x, number(layer.real("alpha")));
  }
  const std::string_view op = find_code(kOfOne, code);
  if (op.empty()) fail(ErrorCode::Unsupported, "operation {} of one tensor", code);
  return unary(graph, op, x);
}

void set_tensor(Network& network, const EspressoLayer& layer, Var* var, bool led) {
  network.set(espresso_outputs(layer), var, Slot{nullptr, led});
}

void set_elementwise(Network& network, const EspressoLayer& layer) {
  const EspressoOperands operands = espresso_operands(network, layer);
  Var* result = elementwise(network, layer, operands);
  if (layer.number("fused_relu") != 0) result = unary(network.graph, "relu", result);
  set_tensor(network, layer, result, operands.led);
}

// Axes are counted from the last one: w, h, k, n, seq.
constexpr std::string_view kSizeNames[] = {"w", "h", "k", "n", "seq"};

void set_transposed(Network& network, const EspressoLayer& layer) {
  Var* x = network.full(espresso_input(network, layer, 0));
  const int64_t rank = network.graph.rank(x);
  std::vector<int64_t> order(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t from = layer.number(fmt::format("axis_{}", kSizeNames[i]), i);
    if (from < 0 || from >= rank) fail(ErrorCode::Unsupported, "axis {} of rank {}", from, rank);
    order[static_cast<size_t>(rank - 1 - i)] = rank - 1 - from;
  }
  network.set(espresso_outputs(layer), 0, transposed(network.graph, x, order));
}

void set_reshaped(Network& network, const EspressoLayer& layer) {
  layer.require("mode", 0);
  layer.require("dynamic_shape", 0);
  const int64_t rank = layer.number("dst_nd_rank", network.rank5 ? 5 : 0);
  if (rank < 1 || rank > 5) fail(ErrorCode::Unsupported, "dst_nd_rank {}", rank);
  std::vector<int64_t> sizes(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i) {
    sizes[static_cast<size_t>(rank - 1 - i)] =
        layer.number(fmt::format("dst_{}", kSizeNames[i]), 1);
  }
  Var* x = network.full(espresso_input(network, layer, 0));
  network.set(espresso_outputs(layer), 0, reshaped(network.graph, x, sizes));
}

void set_softmax(Network& network, const EspressoLayer& layer, int64_t axis) {
  const Slot x = espresso_input(network, layer, 0);
  const int64_t rank = network.graph.rank(x.var);
  Var* result = network.graph.add(
      "softmax", {{"x", {x.var}}, {"axis", {integer(axis < 0 ? axis_of(axis, rank) : axis)}}});
  network.set(espresso_outputs(layer), result, x);
}

}  // namespace

bool translate_espresso_tensor_layer(Network& network, const EspressoLayer& layer,
                                     std::string_view type) {
  if (type == "elementwise") {
    set_elementwise(network, layer);
  } else if (type == "concat") {
    layer.require("axis", 2);
    const EspressoOperands operands = espresso_operands(network, layer);
    set_tensor(network, layer, concatenated(network.graph, operands.vars, -3), operands.led);
  } else if (type == "softmax") {
    set_softmax(network, layer, -3);
  } else if (type == "softmax_nd") {
    set_softmax(network, layer, layer.number("nd_axis", -1));
  } else if (type == "transpose") {
    set_transposed(network, layer);
  } else if (type == "reshape") {
    set_reshaped(network, layer);
  } else if (type == "copy") {
    const Slot x = espresso_input(network, layer, 0);
    network.set(espresso_outputs(layer), x.var, x);
  } else {
    return false;
  }
  return true;
}

}  // namespace pippin::mil::networks
