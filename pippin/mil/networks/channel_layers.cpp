// Scale, bias and dot product along the channel axis.
#include "pippin/base/error.h"
#include "pippin/mil/networks/layers.h"
#include "pippin/mil/networks/operands.h"

namespace pippin::mil::networks {
namespace {

// Factors of shape [1], [C], [1, H, W] or [C, H, W]; a vector is along axis -3.
Var* broadcast_factors(Network& network, const Fields& parameters, const Field& shape_field,
                       const Field& field) {
  std::vector<int64_t> shape = parameters.integers(shape_field);
  if (shape.empty()) shape = {1};
  auto source = network.weight_source(parameters, field, shape);
  if (shape.size() == 1 && shape[0] != 1) shape = {shape[0], 1, 1};
  return network.constant(std::move(source), shape);
}

void translate_scale(Network& network, const Layer& layer) {
  const Fields& parameters = layer.parameters;
  const Slot x = network.floats(layer, 0);
  Var* scale = broadcast_factors(network, parameters, {1, "shapeScale"}, {2, "scale"});
  Var* result = binary(network.graph, "mul", x.var, scale);
  if (parameters.flag({3, "hasBias"})) {
    Var* bias = broadcast_factors(network, parameters, {4, "shapeBias"}, {5, "bias"});
    result = binary(network.graph, "add", result, bias);
  }
  network.set(layer, result, x);
}

void translate_bias(Network& network, const Layer& layer) {
  const Slot x = network.floats(layer, 0);
  Var* bias = broadcast_factors(network, layer.parameters, {1, "shape"}, {2, "bias"});
  network.set(layer, binary(network.graph, "add", x.var, bias), x);
}

Var* sum_of_channels(Graph& graph, Var* x) {
  return graph.add("reduce_sum",
                   {{"x", {x}}, {"axes", {integers({-3})}}, {"keep_dims", {flag(true)}}});
}

void translate_dot(Network& network, const Layer& layer) {
  require_inputs(layer, 2);
  Graph& graph = network.graph;
  const Operands operands = real_operands(network, layer);
  Var *a = operands.vars[0], *b = operands.vars[1];
  Var* result = sum_of_channels(graph, binary(graph, "mul", a, b));
  if (layer.parameters.flag({1, "cosineSimilarity"})) {
    Var* squares = binary(graph, "mul", sum_of_channels(graph, unary(graph, "square", a)),
                          sum_of_channels(graph, unary(graph, "square", b)));
    result = binary(graph, "real_div", result, unary(graph, "sqrt", squares));
  }
  network.set(layer, result, Slot{nullptr, operands.led});
}

}  // namespace

std::span<const LayerKind> channel_layers() {
  static constexpr LayerKind kKinds[] = {
      {245, "scale", translate_scale}, {250, "bias", translate_bias}, {270, "dot", translate_dot}};
  return kKinds;
}

}  // namespace pippin::mil::networks
