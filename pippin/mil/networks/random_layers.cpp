// Random number layers. The numbers for a seed differ from Core ML's.
#include <algorithm>
#include <limits>

#include "pippin/base/error.h"
#include "pippin/mil/networks/layers.h"

namespace pippin::mil::networks {
namespace {

Value seed_of(const Layer& layer) {
  const int64_t seed = layer.parameters.integer({1, "seed"});
  return integer(std::clamp<int64_t>(seed, -1, std::numeric_limits<int32_t>::max()));
}

// The shape of an input, the elements of an input, or a stored one.
Argument random_shape(Network& network, const Layer& layer, const Field& field) {
  Graph& graph = network.graph;
  if (layer.inputs.empty()) return {integers(layer.parameters.integers(field))};
  if (layer.type.ends_with("Like")) {
    return size_vector(graph, sizes_of(graph, network.any(layer, 0)));
  }
  return {flattened(graph, network.integral(layer, 0))};
}

void set_random(Network& network, const Layer& layer, std::string_view op, const Field& shape,
                std::initializer_list<std::string_view> names) {
  Graph::Arguments arguments = {{"shape", random_shape(network, layer, shape)},
                                {"seed", {seed_of(layer)}}};
  uint32_t field = 2;
  for (const std::string_view name : names) {
    arguments.push_back({name, {number(layer.parameters.number({field++, name}))}});
  }
  network.set(layer, 0, network.graph.add(op, std::move(arguments)));
}

void translate_normal(Network& network, const Layer& layer) {
  set_random(network, layer, "random_normal", {4, "outputShape"}, {"mean", "stddev"});
}
void translate_uniform(Network& network, const Layer& layer) {
  set_random(network, layer, "random_uniform", {4, "outputShape"}, {"low", "high"});
}
void translate_bernoulli(Network& network, const Layer& layer) {
  set_random(network, layer, "random_bernoulli", {3, "outputShape"}, {"prob"});
}

// log(p) / temperature is the logit of a probability.
void translate_categorical(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  const Fields& parameters = layer.parameters;
  const float temperature = parameters.number({5, "temperature"});
  Var* x = network.real(layer, 0);
  if (!parameters.flag({3, "isLogits"})) {
    const float epsilon =
        std::max(parameters.number({4, "eps"}), std::numeric_limits<float>::min());
    x = graph.add("log", {{"x", {x}}, {"epsilon", {number(epsilon)}}});
  }
  if (temperature != 0 && temperature != 1) x = binary(graph, "real_div", x, number(temperature));
  network.set(
      layer, 0,
      graph.add("random_categorical",
                {{"x", {x}},
                 {"mode", {text("logits")}},
                 {"size", {integer(std::max<int64_t>(1, parameters.integer({2, "numSamples"})))}},
                 {"seed", {seed_of(layer)}}}));
}

}  // namespace

std::span<const LayerKind> random_layers() {
  static constexpr LayerKind kKinds[] = {{1170, "randomNormalLike", translate_normal},
                                         {1175, "randomNormalStatic", translate_normal},
                                         {1180, "randomNormalDynamic", translate_normal},
                                         {1190, "randomUniformLike", translate_uniform},
                                         {1195, "randomUniformStatic", translate_uniform},
                                         {1200, "randomUniformDynamic", translate_uniform},
                                         {1210, "randomBernoulliLike", translate_bernoulli},
                                         {1215, "randomBernoulliStatic", translate_bernoulli},
                                         {1220, "randomBernoulliDynamic", translate_bernoulli},
                                         {1230, "categoricalDistribution", translate_categorical}};
  return kKinds;
}

}  // namespace pippin::mil::networks
