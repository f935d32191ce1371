// Normalizations and softmax.
#include "pippin/base/error.h"
#include "pippin/mil/networks/layers.h"

namespace pippin::mil::networks {
namespace {

Var* kept_reduction(Graph& graph, std::string_view op, Var* x, const std::vector<int64_t>& axes) {
  return graph.add(op, {{"x", {x}}, {"axes", {integers(axes)}}, {"keep_dims", {flag(true)}}});
}

float or_default(float epsilon, float absent) {
  return epsilon == 0 ? absent : epsilon;
}

// (x - mean) / sqrt(variance + epsilon), with moments over the axes.
Var* standardized(Graph& graph, Var* x, const std::vector<int64_t>& axes, float epsilon) {
  return graph.add("layer_norm",
                   {{"x", {x}}, {"axes", {integers(axes)}}, {"epsilon", {number(epsilon)}}});
}

constexpr Field kBatchGamma{15, "gamma"}, kBatchBeta{16, "beta"}, kMean{17, "mean"},
    kVariance{18, "variance"};

Value channel_values(Network& network, const Fields& parameters, const Field& field,
                     std::vector<int64_t> shape) {
  const std::vector<float> values =
      read_floats(*network.weight_source(parameters, field, {shape.front()}));
  return network.literal(values, shape);
}

// Moments over all axes but the channels.
Var* normalized_by_channel(Network& network, const Fields& parameters, Var* x, int64_t channels,
                           float epsilon) {
  Graph& graph = network.graph;
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < graph.rank(x); ++axis) {
    if (axis != graph.rank(x) - 3) axes.push_back(axis);
  }
  Var* distance = binary(graph, "sub", x, kept_reduction(graph, "reduce_mean", x, axes));
  Var* variance = kept_reduction(graph, "reduce_mean", unary(graph, "square", distance), axes);
  Var* factor = graph.add("rsqrt", {{"x", {variance}}, {"epsilon", {number(epsilon)}}});
  Var* result = binary(graph, "mul", distance, factor);
  if (Network::has_weights(parameters, kBatchGamma)) {
    result = binary(graph, "mul", result,
                    channel_values(network, parameters, kBatchGamma, {channels, 1, 1}));
  }
  if (Network::has_weights(parameters, kBatchBeta)) {
    result = binary(graph, "add", result,
                    channel_values(network, parameters, kBatchBeta, {channels, 1, 1}));
  }
  return result;
}

void translate_batchnorm(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  const Fields& parameters = layer.parameters;
  const int64_t channels = parameters.integer({1, "channels"});
  if (channels < 1) fail(ErrorCode::InvalidFile, "channels is {}", channels);
  const bool compute = parameters.flag({5, "computeMeanVar"});
  const bool instance = parameters.flag({6, "instanceNormalization"});
  const float epsilon = or_default(parameters.number({10, "epsilon"}), 1e-5F);
  const Slot slot = network.floats(layer, 0);
  if (graph.rank(slot.var) < 3) fail(ErrorCode::InvalidFile, "an input without channels");
  if (compute && !instance) {
    return network.set(
        layer, normalized_by_channel(network, parameters, slot.var, channels, epsilon), slot);
  }
  Graph::Arguments arguments = {{"x", {network.planes(slot)}}, {"epsilon", {number(epsilon)}}};
  const auto add = [&](std::string_view name, const Field& field) {
    arguments.push_back({name, {channel_values(network, parameters, field, {channels})}});
  };
  if (Network::has_weights(parameters, kBatchGamma)) add("gamma", kBatchGamma);
  if (Network::has_weights(parameters, kBatchBeta)) add("beta", kBatchBeta);
  if (!compute) {
    add("mean", kMean);
    add("variance", kVariance);
  }
  network.set_planes(
      layer, graph.add(compute ? "instance_norm" : "batch_norm", std::move(arguments)), slot);
}

void translate_mvn(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  const Fields& parameters = layer.parameters;
  const Slot x = network.floats(layer, 0);
  const bool across = parameters.flag({1, "acrossChannels"});
  const std::vector<int64_t> axes =
      across ? std::vector<int64_t>{-3, -2, -1} : std::vector<int64_t>{-2, -1};
  Var* result =
      parameters.flag({2, "normalizeVariance"})
          ? standardized(graph, x.var, axes, or_default(parameters.number({3, "epsilon"}), 1e-6F))
          : binary(graph, "sub", x.var, kept_reduction(graph, "reduce_mean", x.var, axes));
  network.set(layer, result, x);
}

void translate_l2_normalize(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  const Slot x = network.floats(layer, 0);
  const float epsilon = or_default(layer.parameters.number({1, "epsilon"}), 1e-6F);
  Var* squares = kept_reduction(graph, "reduce_sum_square", x.var, {-3, -2, -1});
  Var* factor = graph.add("rsqrt", {{"x", {squares}}, {"epsilon", {number(epsilon)}}});
  network.set(layer, binary(graph, "mul", x.var, factor), x);
}

// The window of an even number of channels begins (n - 1) / 2 before its channel, MIL's n / 2: the
// same on reversed channels.
void translate_lrn(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  const Fields& parameters = layer.parameters;
  const int64_t size = parameters.integer({3, "localSize"});
  const Slot slot = network.floats(layer, 0);
  Var* x = network.planes(slot);
  const auto backwards = [&](Var* var) {
    if (size % 2 != 0) return var;
    return graph.add("reverse", {{"x", {var}}, {"axes", {integers({1})}}});
  };
  Var* result = graph.add("local_response_norm",
                          {{"x", {backwards(x)}},
                           {"size", {integer(size)}},
                           {"alpha", {number(parameters.number({1, "alpha"}))}},
                           {"beta", {number(parameters.number({2, "beta"}))}},
                           {"k", {number(or_default(parameters.number({4, "k"}), 1))}}});
  network.set_planes(layer, backwards(result), slot);
}

Var* softmax(Graph& graph, Var* x, int64_t axis) {
  return graph.add("softmax", {{"x", {x}}, {"axis", {integer(axis_of(axis, graph.rank(x)))}}});
}

void translate_softmax(Network& network, const Layer& layer) {
  const Slot x = network.floats(layer, 0);
  network.set(layer, softmax(network.graph, x.var, -3), x);
}

void translate_softmax_nd(Network& network, const Layer& layer) {
  Var* x = network.real(layer, 0);
  network.set(layer, 0, softmax(network.graph, x, layer.parameters.integer({1, "axis"})));
}

void translate_layer_norm(Network& network, const Layer& layer) {
  constexpr Field kScale{3, "gamma"}, kOffset{4, "beta"};
  const Fields& parameters = layer.parameters;
  Var* x = network.real(layer, 0);
  const std::vector<int64_t> shape = parameters.integers({1, "normalizedShape"});
  std::vector<int64_t> axes;
  axes.reserve(shape.size());
  for (int64_t i = -std::ssize(shape); i < 0; ++i)
    axes.push_back(axis_of(i, network.graph.rank(x)));
  Graph::Arguments arguments = {
      {"x", {x}}, {"axes", {integers(axes)}}, {"epsilon", {number(parameters.number({2, "eps"}))}}};
  if (Network::has_weights(parameters, kScale)) {
    arguments.push_back({"gamma", {network.weights(parameters, kScale, shape)}});
  }
  if (Network::has_weights(parameters, kOffset)) {
    arguments.push_back({"beta", {network.weights(parameters, kOffset, shape)}});
  }
  network.set(layer, 0, network.graph.add("layer_norm", std::move(arguments)));
}

}  // namespace

std::span<const LayerKind> normalization_layers() {
  static constexpr LayerKind kKinds[] = {{160, "batchnorm", translate_batchnorm},
                                         {165, "mvn", translate_mvn},
                                         {170, "l2normalize", translate_l2_normalize},
                                         {175, "softmax", translate_softmax},
                                         {180, "lrn", translate_lrn},
                                         {950, "softmaxND", translate_softmax_nd},
                                         {1350, "layerNormalization", translate_layer_norm}};
  return kKinds;
}

}  // namespace pippin::mil::networks
