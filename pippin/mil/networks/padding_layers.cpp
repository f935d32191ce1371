// Padding and cropping.
#include "pippin/base/error.h"
#include "pippin/mil/networks/borders.h"
#include "pippin/mil/networks/layers.h"

namespace pippin::mil::networks {
namespace {

Var* padded(Graph& graph, Var* x, Argument amounts, std::string mode, float value) {
  return graph.add("pad", {{"x", {x}},
                           {"pad", std::move(amounts)},
                           {"mode", {text(std::move(mode))}},
                           {"constant_val", {number(value)}}});
}

void translate_padding(Network& network, const Layer& layer) {
  const Fields& parameters = layer.parameters;
  constexpr Field kConstant{1, "constant"}, kReflection{2, "reflection"},
      kReplication{3, "replication"};
  const Slot x = network.floats(layer, 0);
  const std::vector<int64_t> amounts = border_amounts(parameters.message({10, "paddingAmounts"}));
  if (amounts.empty()) return network.set(layer, x.var, x);
  const std::string mode = parameters.has(kReflection)    ? "reflect"
                           : parameters.has(kReplication) ? "replicate"
                                                          : "constant";
  const float value = parameters.message(kConstant).number({1, "value"});
  network.set(layer, padded(network.graph, x.var, {integers(amounts)}, mode, value), x);
}

// The lengths of x's axes, each twice.
Var* lengths_twice(Graph& graph, Var* x) {
  Var* shape = graph.add("shape", {{"x", {x}}});
  Var* pairs = graph.add("stack", {{"values", {shape, shape}}, {"axis", {integer(1)}}});
  return reshaped(graph, pairs, std::vector<int64_t>{-1});
}

void translate_constant_pad(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  const Fields& parameters = layer.parameters;
  Var* x = network.real(layer, 0);
  const float value = parameters.number({1, "value"});
  const bool lengths = parameters.flag({3, "padToGivenOutputSizeMode"});
  const std::vector<int64_t> given = parameters.integers({2, "padAmounts"});
  const auto rank = static_cast<size_t>(graph.rank(x));
  Argument amounts;
  if (layer.inputs.size() > 1) {
    amounts = {flattened(graph, network.integral(layer, 1))};
  } else {
    if (given.size() != 2 * rank) {
      fail(ErrorCode::InvalidFile, "{} padAmounts for a tensor of rank {}", given.size(), rank);
    }
    amounts = {integers(given)};
  }
  if (lengths) {
    Var* missing = graph.add("sub", {{"x", std::move(amounts)}, {"y", {lengths_twice(graph, x)}}});
    amounts = {binary(graph, "maximum", missing, integer(0))};
  }
  network.set(layer, 0, padded(graph, x, std::move(amounts), "constant", value));
}

// Crops rows and columns, or crops to the size of a second input from an offset.
void translate_crop(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  const Fields& parameters = layer.parameters;
  const Slot x = network.slot(layer, 0);
  const auto rank = static_cast<size_t>(graph.rank(x.var));
  if (rank < 2) fail(ErrorCode::InvalidFile, "an input without rows and columns");
  if (layer.inputs.size() == 1) {
    const std::vector<int64_t> amounts = border_amounts(parameters.message({1, "cropAmounts"}));
    Var* result = x.var;
    for (size_t i = 0; i < amounts.size(); i += 2) {
      if (amounts[i] == 0 && amounts[i + 1] == 0) continue;
      result = sliced(graph, result, i == 0 ? -2 : -1, amounts[i], -amounts[i + 1]);
    }
    return network.set(layer, result, x);
  }
  std::vector<int64_t> offset = parameters.integers({5, "offset"});
  if (offset.empty()) offset = {0, 0};
  if (offset.size() != 2)
    fail(ErrorCode::InvalidFile, "offset has {} numbers, not 2", offset.size());
  const Slot like = network.slot(layer, 1);
  std::vector<int64_t> begin(rank, 0);
  std::vector<Size> sizes(rank, Size{-1});
  for (size_t i = 0; i < 2; ++i) {
    begin[rank - 2 + i] = offset[i];
    sizes[rank - 2 + i] = size_of(graph, like.var, static_cast<int64_t>(i) - 2);
  }
  network.set(layer,
              graph.add("slice_by_size", {{"x", {x.var}},
                                          {"begin", {integers(begin)}},
                                          {"size", size_vector(graph, sizes)}}),
              x);
}

}  // namespace

std::span<const LayerKind> padding_layers() {
  static constexpr LayerKind kKinds[] = {{190, "crop", translate_crop},
                                         {200, "padding", translate_padding},
                                         {1155, "constantPad", translate_constant_pad}};
  return kKinds;
}

}  // namespace pippin::mil::networks
