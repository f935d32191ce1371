#include "pippin/mil/networks/activations.h"

#include "pippin/base/error.h"
#include "pippin/mil/networks/layers.h"

namespace pippin::mil::networks {
namespace {

constexpr Field kAlpha{1, "alpha"}, kBeta{2, "beta"};

enum ActivationField : uint32_t {
  ActivationLinear = 5,
  ActivationRelu = 10,
  ActivationLeakyRelu = 15,
  ActivationThresholdedRelu = 20,
  ActivationPrelu = 25,
  ActivationTanh = 30,
  ActivationScaledTanh = 31,
  ActivationSigmoid = 40,
  ActivationSigmoidHard = 41,
  ActivationElu = 50,
  ActivationSoftsign = 60,
  ActivationSoftplus = 70,
  ActivationParametricSoftplus = 71
};

// Factors of one number, or one per channel.
std::vector<float> factors(Network& network, const Fields& function, const Field& field,
                           const Var* x) {
  const Fields message = function.message(field);
  const Graph& graph = network.graph;
  if (graph.rank(x) >= 3) {
    const auto channels = graph.shape(x)[static_cast<size_t>(graph.rank(x)) - 3].try_constant();
    if (channels && *channels > 1) {
      try {
        return read_floats(*network.weight_source(function, field, {*channels}));
      } catch (const Error& error) {
        if (error.code() != ErrorCode::InvalidFile) throw;
      }
    }
  }
  return read_floats(*network.weight_source(function, field, {1}));
}

// Factors that broadcast along axis -3.
Binding along_channels(Network& network, const std::vector<float>& values) {
  if (values.size() == 1) return number(values.front());
  return network.literal(values, {std::ssize(values), 1, 1});
}

Var* prelu(Network& network, const Fields& function, Var* x) {
  const std::vector<float> alpha = factors(network, function, kAlpha, x);
  Graph& graph = network.graph;
  if (alpha.size() == 1) {
    return graph.add("leaky_relu", {{"x", {x}}, {"alpha", {number(alpha.front())}}});
  }
  if (graph.rank(x) == 4) {
    Value slopes = network.literal(alpha, {std::ssize(alpha)});
    return graph.add("prelu", {{"x", {x}}, {"alpha", {std::move(slopes)}}});
  }
  Var* below = binary(graph, "minimum", x, number(0));
  Var* scaled = binary(graph, "mul", below, along_channels(network, alpha));
  return binary(graph, "add", unary(graph, "relu", x), scaled);
}

Var* parametric_softplus(Network& network, const Fields& function, Var* x) {
  Graph& graph = network.graph;
  Var* inner =
      binary(graph, "mul", x, along_channels(network, factors(network, function, kBeta, x)));
  return binary(graph, "mul", unary(graph, "softplus", inner),
                along_channels(network, factors(network, function, kAlpha, x)));
}

void translate_activation(Network& network, const Layer& layer) {
  const Slot x = network.floats(layer, 0);
  network.set(layer, activated(network, layer.parameters, x.var), x);
}

void translate_clamped_relu(Network& network, const Layer& layer) {
  const Slot x = network.floats(layer, 0);
  network.set(
      layer,
      network.graph.add("clamped_relu", {{"x", {x.var}},
                                         {"alpha", {number(layer.parameters.number(kAlpha))}},
                                         {"beta", {number(layer.parameters.number(kBeta))}}}),
      x);
}

void translate_gelu(Network& network, const Layer& layer) {
  constexpr std::string_view kModes[] = {"EXACT", "TANH_APPROXIMATION", "SIGMOID_APPROXIMATION"};
  const auto mode = static_cast<size_t>(layer.parameters.integer({1, "mode"}));
  if (mode >= std::size(kModes)) fail(ErrorCode::InvalidFile, "unknown gelu mode {}", mode);
  const Slot x = network.floats(layer, 0);
  network.set(
      layer,
      network.graph.add("gelu", {{"x", {x.var}}, {"mode", {text(std::string(kModes[mode]))}}}), x);
}

}  // namespace

Var* activated(Network& network, const Fields& activation, Var* x) {
  Graph& graph = network.graph;
  const std::vector<uint32_t> present = activation.field_numbers();
  if (present.empty()) fail(ErrorCode::InvalidFile, "the activation has no function");
  const uint32_t kind = present.back();
  const Fields function = activation.message({kind, "NonlinearityType"});
  const auto with_factors = [&](std::string_view op, bool has_beta) {
    Graph::Arguments arguments = {{"x", {x}}, {"alpha", {number(function.number(kAlpha))}}};
    if (has_beta) arguments.push_back({"beta", {number(function.number(kBeta))}});
    return graph.add(op, std::move(arguments));
  };
  switch (kind) {
    case ActivationLinear:
      return with_factors("linear_activation", true);
    case ActivationRelu:
      return unary(graph, "relu", x);
    case ActivationLeakyRelu:
      return with_factors("leaky_relu", false);
    case ActivationThresholdedRelu:
      return with_factors("thresholded_relu", false);
    case ActivationPrelu:
      return prelu(network, function, x);
    case ActivationTanh:
      return unary(graph, "tanh", x);
    case ActivationScaledTanh:
      return with_factors("scaled_tanh", true);
    case ActivationSigmoid:
      return unary(graph, "sigmoid", x);
    case ActivationSigmoidHard:
      return with_factors("sigmoid_hard", true);
    case ActivationElu:
      return with_factors("elu", false);
    case ActivationSoftsign:
      return unary(graph, "softsign", x);
    case ActivationSoftplus:
      return unary(graph, "softplus", x);
    case ActivationParametricSoftplus:
      return parametric_softplus(network, function, x);
    default:
      fail(ErrorCode::Unsupported, "the activation function with field {} is not known", kind);
  }
}

std::span<const LayerKind> activation_layers() {
  static constexpr LayerKind kKinds[] = {{130, "activation", translate_activation},
                                         {795, "gelu", translate_gelu},
                                         {1460, "clampedReLU", translate_clamped_relu}};
  return kKinds;
}

}  // namespace pippin::mil::networks
