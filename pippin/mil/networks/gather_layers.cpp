// Layers that read and write elements at indices.
#include "pippin/base/error.h"
#include "pippin/mil/networks/layers.h"

namespace pippin::mil::networks {
namespace {

Value axis_value(const Layer& layer, const Graph& graph, const Var* x) {
  return integer(axis_of(layer.parameters.integer({1, "axis"}), graph.rank(x)));
}

void translate_gather(Network& network, const Layer& layer) {
  Var* x = network.any(layer, 0);
  network.set(layer, 0,
              network.graph.add("gather", {{"x", {x}},
                                           {"indices", {network.integral(layer, 1)}},
                                           {"axis", {axis_value(layer, network.graph, x)}}}));
}

void translate_gather_nd(Network& network, const Layer& layer) {
  network.set(layer, 0,
              network.graph.add("gather_nd", {{"x", {network.any(layer, 0)}},
                                              {"indices", {network.integral(layer, 1)}}}));
}

void translate_gather_along_axis(Network& network, const Layer& layer) {
  Var* x = network.any(layer, 0);
  network.set(
      layer, 0,
      network.graph.add("gather_along_axis", {{"x", {x}},
                                              {"indices", {network.integral(layer, 1)}},
                                              {"axis", {axis_value(layer, network.graph, x)}}}));
}

Value scatter_mode(const Layer& layer, const Field& field) {
  constexpr std::string_view kModes[] = {"update", "add", "sub", "mul", "div", "max", "min"};
  const auto mode = static_cast<size_t>(layer.parameters.integer(field));
  if (mode >= std::size(kModes)) fail(ErrorCode::InvalidFile, "unknown scatter mode {}", mode);
  return text(std::string(kModes[mode]));
}

void set_scattered(Network& network, const Layer& layer, std::string_view op, bool has_axis) {
  Var* data = network.real(layer, 0);
  Graph::Arguments arguments = {{"data", {data}},
                                {"indices", {network.integral(layer, 1)}},
                                {"updates", {network.real(layer, 2)}},
                                {"mode", {scatter_mode(layer, {has_axis ? 2U : 1U, "mode"})}}};
  if (has_axis) arguments.push_back({"axis", {axis_value(layer, network.graph, data)}});
  network.set(layer, 0, network.graph.add(op, std::move(arguments)));
}
void translate_scatter(Network& network, const Layer& layer) {
  set_scattered(network, layer, "scatter", true);
}
void translate_scatter_nd(Network& network, const Layer& layer) {
  set_scattered(network, layer, "scatter_nd", false);
}
void translate_scatter_along_axis(Network& network, const Layer& layer) {
  set_scattered(network, layer, "scatter_along_axis", true);
}

}  // namespace

std::span<const LayerKind> gather_layers() {
  static constexpr LayerKind kKinds[] = {{930, "gather", translate_gather},
                                         {935, "scatter", translate_scatter},
                                         {940, "gatherND", translate_gather_nd},
                                         {945, "scatterND", translate_scatter_nd},
                                         {952, "gatherAlongAxis", translate_gather_along_axis},
                                         {954, "scatterAlongAxis", translate_scatter_along_axis}};
  return kKinds;
}

}  // namespace pippin::mil::networks
