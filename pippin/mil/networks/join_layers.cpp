// Layers that join, repeat and split tensors.
#include "pippin/base/error.h"
#include "pippin/mil/networks/known_values.h"
#include "pippin/mil/networks/layers.h"
#include "pippin/mil/networks/operands.h"

namespace pippin::mil::networks {
namespace {

constexpr Field kAxis{1, "axis"};

std::vector<Var*> full_inputs(Network& network, const Layer& layer) {
  const Operands operands = number_operands(network, layer);
  std::vector<Var*> vars;
  vars.reserve(operands.vars.size());
  for (Var* var : operands.vars) vars.push_back(network.full({var, operands.led}));
  return vars;
}

void translate_concat(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  if (layer.parameters.flag({100, "sequenceConcat"})) {
    return network.set(layer, 0, concatenated(graph, full_inputs(network, layer), -5));
  }
  const Operands operands = number_operands(network, layer);
  network.set(layer, concatenated(graph, operands.vars, -3), Slot{nullptr, operands.led});
}

void translate_concat_nd(Network& network, const Layer& layer) {
  const std::vector<Var*> parts = full_inputs(network, layer);
  const Value axis = integer(layer.parameters.integer(kAxis));
  network.set(layer, 0,
              network.graph.add(
                  "concat", {{"values", Argument(parts.begin(), parts.end())},
                             {"axis", {axis}},
                             {"interleave", {flag(layer.parameters.flag({2, "interleave"}))}}}));
}

void translate_stack(Network& network, const Layer& layer) {
  const std::vector<Var*> parts = full_inputs(network, layer);
  network.set(layer, 0,
              network.graph.add("stack", {{"values", Argument(parts.begin(), parts.end())},
                                          {"axis", {integer(layer.parameters.integer(kAxis))}}}));
}

std::vector<Var*> split(Graph& graph, Var* x, int64_t axis, int64_t count,
                        std::vector<int64_t> sizes, size_t outputs) {
  const auto parts = sizes.empty() ? count : std::ssize(sizes);
  if (parts < 1 || parts > static_cast<int64_t>(outputs)) {
    fail(ErrorCode::InvalidFile, "the layer splits into {} parts and has {} outputs", parts,
         outputs);
  }
  const Size whole = size_of(graph, x, axis);
  // The first parts of an axis that cannot be divided have one element more.
  if (sizes.empty() && whole.of == nullptr && whole.number % count != 0) {
    sizes.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      sizes.push_back(whole.number / count + (i < whole.number % count ? 1 : 0));
    }
  }
  Graph::Arguments arguments = {{"x", {x}}, {"axis", {integer(axis)}}};
  if (sizes.empty()) {
    arguments.push_back({"num_splits", {integer(count)}});
  } else {
    arguments.push_back({"split_sizes", {integers(sizes)}});
  }
  return graph.add_many("split", std::move(arguments));
}

void translate_split(Network& network, const Layer& layer) {
  const Slot x = network.slot(layer, 0);
  const std::vector<Var*> parts =
      split(network.graph, x.var, -3, layer.parameters.integer({1, "nOutputs"}), {},
            layer.outputs.size());
  for (size_t i = 0; i < parts.size() && i < layer.outputs.size(); ++i) {
    network.values.insert_or_assign(layer.outputs[i], Slot{parts[i], x.led});
  }
}

void translate_split_nd(Network& network, const Layer& layer) {
  const Fields& parameters = layer.parameters;
  const std::vector<Var*> parts =
      split(network.graph, network.any(layer, 0), parameters.integer(kAxis),
            parameters.integer({2, "numSplits"}), parameters.integers({3, "splitSizes"}),
            layer.outputs.size());
  for (size_t i = 0; i < parts.size(); ++i) network.set(layer, i, parts[i]);
}

void translate_sequence_repeat(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  Var* x = network.any(layer, 0);
  std::vector<int64_t> repetitions(static_cast<size_t>(graph.rank(x)), 1);
  repetitions[0] = layer.parameters.integer({1, "nRepetitions"});
  network.set(layer, 0, graph.add("tile", {{"x", {x}}, {"reps", {integers(repetitions)}}}));
}

// Repetitions of fewer axes are those of the last ones.
void translate_tile(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  Var* x = network.any(layer, 0);
  const auto rank = static_cast<size_t>(graph.rank(x));
  std::vector<int64_t> repetitions = layer.parameters.integers({1, "reps"});
  Argument argument;
  if (layer.inputs.size() > 1) {
    Var* given = flattened(graph, network.integral(layer, 1));
    const auto known = known_integers(graph, given);
    const auto count = static_cast<size_t>(known_size(graph, given, 0));
    if (known) {
      repetitions = *known;
    } else if (count < rank) {
      const std::vector<int64_t> ones(rank - count, 1);
      argument = {
          graph.add("concat", {{"values", {integers(ones), given}}, {"axis", {integer(0)}}})};
    } else {
      argument = {given};
    }
  }
  if (argument.empty()) {
    if (repetitions.size() < rank) {
      repetitions.insert(repetitions.begin(), rank - repetitions.size(), 1);
    }
    for (size_t i = rank; i < repetitions.size(); ++i) x = expanded(graph, x, {0});
    argument = {integers(repetitions)};
  }
  network.set(layer, 0, graph.add("tile", {{"x", {x}}, {"reps", std::move(argument)}}));
}

}  // namespace

std::span<const LayerKind> join_layers() {
  static constexpr LayerKind kKinds[] = {{320, "concat", translate_concat},
                                         {330, "split", translate_split},
                                         {340, "sequenceRepeat", translate_sequence_repeat},
                                         {920, "tile", translate_tile},
                                         {925, "stack", translate_stack},
                                         {975, "splitND", translate_split_nd},
                                         {980, "concatND", translate_concat_nd}};
  return kKinds;
}

}  // namespace pippin::mil::networks
