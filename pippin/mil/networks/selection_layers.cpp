// Layers that keep some elements: conditions, triangles, non-maximum suppression.
#include <algorithm>
#include <cmath>
#include <limits>

#include "pippin/base/error.h"
#include "pippin/mil/networks/layers.h"
#include "pippin/mil/tensor.h"

namespace pippin::mil::networks {
namespace {

// Whether the condition has axes or sizes that both alternatives lack.
bool is_wider(const Shape& condition, const Shape& a, const Shape& b) {
  if (condition.size() > std::max(a.size(), b.size())) return true;
  const auto is_one = [](const Shape& shape, size_t from_end) {
    return from_end > shape.size() || shape[shape.size() - from_end] == Dim(1);
  };
  for (size_t i = 1; i <= condition.size(); ++i) {
    if (!is_one(condition, i) && is_one(a, i) && is_one(b, i)) return true;
  }
  return false;
}

void translate_where(Network& network, const Layer& layer) {
  require_inputs(layer, 3);
  Var *a = network.any(layer, 1), *b = network.any(layer, 2);
  if (network.graph.type(a) != network.graph.type(b)) {
    a = network.real(layer, 1);
    b = network.real(layer, 2);
  }
  Graph& graph = network.graph;
  Var* condition = network.truth(layer, 0);
  if (is_wider(graph.shape(condition), graph.shape(a), graph.shape(b))) {
    // coremltools expects the alternatives to have the shape of the result.
    Var* zeros = binary(graph, "mul", graph.cast(condition, DataType::Float32), number(0));
    a = binary(graph, "add", graph.cast(a, DataType::Float32), zeros);
    b = graph.cast(b, DataType::Float32);
  }
  network.set(layer, 0, graph.add("select", {{"cond", {condition}}, {"a", {a}}, {"b", {b}}}));
}

void translate_where_non_zero(Network& network, const Layer& layer) {
  network.set(layer, 0, unary(network.graph, "non_zero", network.any(layer, 0)));
}

Var* band(Graph& graph, Var* x, int64_t lower, int64_t upper) {
  return graph.add("band_part",
                   {{"x", {x}}, {"lower", {integer(lower)}}, {"upper", {integer(upper)}}});
}

// x outside of the band, zero in it.
Var* outside_band(Graph& graph, Var* x, int64_t lower, int64_t upper) {
  Var* ones = graph.add(
      "fill", {{"shape", size_vector(graph, sizes_of(graph, x))}, {"value", {number(1)}}});
  Var* inside = binary(graph, "greater", band(graph, ones, lower, upper), number(0));
  return graph.add("select", {{"cond", {inside}}, {"a", {number(0)}}, {"b", {x}}});
}

void translate_band_part(Network& network, const Layer& layer) {
  network.set(layer, 0,
              band(network.graph, network.real(layer, 0), layer.parameters.integer({1, "numLower"}),
                   layer.parameters.integer({2, "numUpper"})));
}

// Beyond the bound every matrix is within the triangle, or outside of it.
int64_t diagonal(const Layer& layer) {
  constexpr int64_t kFarthest = std::numeric_limits<int32_t>::max();
  return std::clamp(layer.parameters.integer({1, "k"}), -kFarthest, kFarthest);
}

// Keeps columns up to row + k.
void translate_lower_triangle(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  Var* x = network.real(layer, 0);
  const int64_t k = diagonal(layer);
  network.set(layer, 0, k >= 0 ? band(graph, x, -1, k) : outside_band(graph, x, -k - 1, -1));
}

// Keeps columns from row + k on.
void translate_upper_triangle(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  Var* x = network.real(layer, 0);
  const int64_t k = diagonal(layer);
  network.set(layer, 0, k <= 0 ? band(graph, x, -k, -1) : outside_band(graph, x, -1, k - 1));
}

// A parameter, or the input that replaces it: a literal if it is constant, for which the op has a
// kernel.
Binding setting(Network& network, const Layer& layer, size_t input, Value stored) {
  if (layer.inputs.size() <= input) return stored;
  Var* var = network.any(layer, input);
  const DataType type = stored.type.data_type;
  const Value* constant = constant_of(var);
  if (constant != nullptr && constant->type.num_elements() == 1) {
    const double known = constant->to_doubles().front();
    if (type == DataType::Float32) return number(static_cast<float>(known));
    return integer(static_cast<int64_t>(saturate_to_type(known, type)));
  }
  return network.graph.cast(scalar(network.graph, var), type);
}

// The next number above the threshold: the layer drops boxes with this score, MIL's op keeps them.
Binding score_threshold(Network& network, const Layer& layer) {
  using Limits = std::numeric_limits<float>;
  Graph& graph = network.graph;
  const Binding given =
      setting(network, layer, 3, number(layer.parameters.number({2, "scoreThreshold"})));
  if (const auto* known = std::get_if<Value>(&given)) {
    const auto threshold = static_cast<float>(known->to_doubles().front());
    return number(std::nextafter(threshold, Limits::infinity()));
  }
  Var* threshold = std::get<Var*>(given);
  // Three quarters of an epsilon round to one unit of the last place.
  Var* step =
      binary(graph, "mul", unary(graph, "abs", threshold), number(0.75F * Limits::epsilon()));
  step = graph.add(
      "clip",
      {{"x", {step}}, {"alpha", {number(Limits::min())}}, {"beta", {number(Limits::max())}}});
  return binary(graph, "add", threshold, step);
}

void translate_suppression_layer(Network& network, const Layer& layer) {
  const Fields& parameters = layer.parameters;
  Graph& graph = network.graph;
  const std::vector<Var*> results = graph.add_many(
      "non_maximum_suppression",
      {{"boxes", {network.real(layer, 0)}},
       {"scores", {network.real(layer, 1)}},
       {"iou_threshold",
        {setting(network, layer, 2, number(parameters.number({1, "iouThreshold"})))}},
       {"score_threshold", {score_threshold(network, layer)}},
       {"max_boxes", {setting(network, layer, 4, integer(parameters.integer({3, "maxBoxes"})))}},
       {"per_class_suppression", {flag(parameters.flag({4, "perClassSuppression"}))}}});
  for (size_t i = 0; i < results.size(); ++i) network.set(layer, i, results[i]);
}

}  // namespace

std::span<const LayerKind> selection_layers() {
  static constexpr LayerKind kKinds[] = {
      {1313, "whereNonZero", translate_where_non_zero},
      {1315, "matrixBandPart", translate_band_part},
      {1320, "lowerTriangular", translate_lower_triangle},
      {1325, "upperTriangular", translate_upper_triangle},
      {1330, "whereBroadcastable", translate_where},
      {1400, "NonMaximumSuppression", translate_suppression_layer}};
  return kKinds;
}

}  // namespace pippin::mil::networks
