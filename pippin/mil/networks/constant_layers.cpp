// Layers that make tensors: constants, fills, ranges; and broadcasts.
#include "pippin/base/error.h"
#include "pippin/mil/networks/layers.h"

namespace pippin::mil::networks {
namespace {

// A constant of rank 5, [1, 1, C, H, W].
void translate_load_constant(Network& network, const Layer& layer) {
  std::vector<int64_t> shape = layer.parameters.integers({1, "shape"});
  if (shape.size() != 3) {
    fail(ErrorCode::InvalidFile, "a shape of {} numbers, not 3", shape.size());
  }
  shape.insert(shape.begin(), 1);
  network.set(layer, network.weights(layer.parameters, {2, "data"}, shape), Slot{nullptr, true});
}

// Short constants stay in the program, since shapes may be computed from them.
void translate_load_constant_nd(Network& network, const Layer& layer) {
  constexpr int64_t kFew = 1024;
  const std::vector<int64_t> shape = layer.parameters.integers({1, "shape"});
  const auto source = network.weight_source(layer.parameters, {2, "data"}, shape);
  const bool few = source->size() <= kFew * sizeof(float);
  network.set(layer, 0,
              few ? network.graph.add_constant(network.literal(read_floats(*source), shape))
                  : network.constant(source, shape));
}

Argument target_shape(Network& network, const Layer& layer, size_t input, const Field& field) {
  if (layer.inputs.size() > input) {
    return {flattened(network.graph, network.integral(layer, input))};
  }
  return {integers(layer.parameters.integers(field))};
}

Var* filled(Graph& graph, Argument shape, float value) {
  return graph.add("fill", {{"shape", std::move(shape)}, {"value", {number(value)}}});
}

void translate_fill_like(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  Var* like = network.any(layer, 0);
  network.set(layer, 0,
              filled(graph, size_vector(graph, sizes_of(graph, like)),
                     layer.parameters.number({1, "value"})));
}

void translate_fill(Network& network, const Layer& layer) {
  network.set(layer, 0,
              filled(network.graph, target_shape(network, layer, 0, {2, "targetShape"}),
                     layer.parameters.number({1, "value"})));
}

void translate_range(Network& network, const Layer& layer, std::initializer_list<Field> fields) {
  // The end, the start and the step: inputs if given, else parameters.
  std::vector<Binding> bounds;
  size_t input = 0;
  for (const Field& field : fields) {
    if (input < layer.inputs.size()) {
      bounds.emplace_back(scalar(network.graph, network.real(layer, input++)));
    } else {
      bounds.emplace_back(number(layer.parameters.number(field)));
    }
  }
  network.set(
      layer, 0,
      network.graph.add("range_1d",
                        {{"end", {bounds[0]}}, {"start", {bounds[1]}}, {"step", {bounds[2]}}}));
}
void translate_range_static(Network& network, const Layer& layer) {
  translate_range(network, layer, {{1, "endValue"}, {2, "startValue"}, {3, "stepSizeValue"}});
}
void translate_range_dynamic(Network& network, const Layer& layer) {
  require_inputs(layer, 1);
  translate_range(network, layer, {{0, "end"}, {2, "startValue"}, {3, "stepSizeValue"}});
}

void set_broadcast(Network& network, const Layer& layer, Argument shape) {
  Var* x = network.real(layer, 0);
  network.set(layer, 0,
              binary(network.graph, "add", x, filled(network.graph, std::move(shape), 0)));
}
void translate_broadcast_like(Network& network, const Layer& layer) {
  Var* like = network.any(layer, 1);
  set_broadcast(network, layer, size_vector(network.graph, sizes_of(network.graph, like)));
}
void translate_broadcast(Network& network, const Layer& layer) {
  set_broadcast(network, layer, target_shape(network, layer, 1, {1, "targetShape"}));
}

}  // namespace

std::span<const LayerKind> constant_layers() {
  static constexpr LayerKind kKinds[] = {{290, "loadConstant", translate_load_constant},
                                         {635, "rangeStatic", translate_range_static},
                                         {640, "rangeDynamic", translate_range_dynamic},
                                         {1070, "loadConstantND", translate_load_constant_nd},
                                         {1080, "fillLike", translate_fill_like},
                                         {1085, "fillStatic", translate_fill},
                                         {1090, "fillDynamic", translate_fill},
                                         {1100, "broadcastToLike", translate_broadcast_like},
                                         {1105, "broadcastToStatic", translate_broadcast},
                                         {1110, "broadcastToDynamic", translate_broadcast}};
  return kKinds;
}

}  // namespace pippin::mil::networks
