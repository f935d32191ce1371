#include "pippin/mil/networks/operands.h"

#include <algorithm>
#include <cmath>

namespace pippin::mil::networks {
namespace {

constexpr int64_t kFewElements = 64;
constexpr double kExact = 16777216;  // fp32 represents all whole numbers up to this one

bool is_whole(double value) {
  return std::abs(value) <= kExact && value == std::trunc(value);
}

// A short constant of whole numbers as int32, or null.
Var* whole_constant(Graph& graph, const Var* var) {
  const Value* value = constant_of(var);
  if (value == nullptr || value->type.data_type != DataType::Float32 ||
      value->type.num_elements() > kFewElements) {
    return nullptr;
  }
  const std::vector<double> numbers = value->to_doubles();
  if (!std::all_of(numbers.begin(), numbers.end(), is_whole)) return nullptr;
  Value whole;
  whole.type = ValueType::tensor(DataType::Int32, value->type.dims);
  std::vector<int32_t> elements(numbers.begin(), numbers.end());
  const auto bytes = std::as_bytes(std::span(elements));
  whole.bytes.assign(bytes.begin(), bytes.end());
  return graph.add_constant(std::move(whole));
}

Operands aligned(Network& network, const std::vector<Slot>& slots) {
  // A led tensor has rank 5: broadcasting gives the others its first axis unless one has it.
  const bool any_led = std::any_of(slots.begin(), slots.end(), [](const Slot& s) { return s.led; });
  const bool all_fit = std::all_of(slots.begin(), slots.end(), [&](const Slot& s) {
    return s.led || network.graph.rank(s.var) < 5;
  });
  Operands operands;
  operands.led = any_led && all_fit;
  operands.vars.reserve(slots.size());
  for (const Slot& slot : slots) {
    operands.vars.push_back(operands.led ? slot.var : network.full(slot));
  }
  return operands;
}

Operands cast_operands(Network& network, const Layer& layer, DataType type) {
  require_inputs(layer, 1);
  std::vector<Slot> slots;
  slots.reserve(layer.inputs.size());
  for (size_t i = 0; i < layer.inputs.size(); ++i) {
    slots.push_back(network.slot(layer, i));
    slots.back().var = type == DataType::Bool ? network.to_truth(slots.back().var)
                                              : network.graph.cast(slots.back().var, type);
  }
  return aligned(network, slots);
}

}  // namespace

Operands real_operands(Network& network, const Layer& layer) {
  return cast_operands(network, layer, DataType::Float32);
}

Operands truth_operands(Network& network, const Layer& layer) {
  return cast_operands(network, layer, DataType::Bool);
}

Operands number_operands(Network& network, const Layer& layer) {
  require_inputs(layer, 1);
  std::vector<Slot> slots;
  slots.reserve(layer.inputs.size());
  bool some = false, all = true;
  for (size_t i = 0; i < layer.inputs.size(); ++i) {
    Slot slot = network.slot(layer, i);
    if (network.graph.type(slot.var) == DataType::Int32) {
      some = true;
    } else if (constant_of(slot.var) == nullptr) {
      all = false;
    }
    slots.push_back(slot);
  }
  if (!some || !all) return real_operands(network, layer);
  for (Slot& slot : slots) {
    if (network.graph.type(slot.var) == DataType::Int32) continue;
    slot.var = whole_constant(network.graph, slot.var);
    if (slot.var == nullptr) return real_operands(network, layer);
  }
  return aligned(network, slots);
}

Binding scalar_operand(Network& network, Var*& x, float value) {
  if (network.graph.type(x) == DataType::Int32 && is_whole(static_cast<double>(value))) {
    return integer(static_cast<int64_t>(value));
  }
  x = network.graph.cast(x, DataType::Float32);
  return number(value);
}

}  // namespace pippin::mil::networks
