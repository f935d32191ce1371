// Layers that compute each element from one element.
#include "pippin/base/error.h"
#include "pippin/mil/networks/layers.h"

namespace pippin::mil::networks {
namespace {

// Layers with the name of their op.
void translate_simple(Network& network, const Layer& layer) {
  const Slot x = network.floats(layer, 0);
  network.set(layer, unary(network.graph, layer.type, x.var), x);
}

// The square root of x * x + add, without overflow for practical values of x.
Var* root_of_square(Graph& graph, Var* x, float add) {
  return unary(graph, "sqrt", binary(graph, "add", unary(graph, "square", x), number(add)));
}

// sign(x) log(|x| + sqrt(x^2 + 1)), which keeps the precision of negative x.
void translate_asinh(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  const Slot x = network.floats(layer, 0);
  Var* magnitude = unary(graph, "abs", x.var);
  Var* sum = binary(graph, "add", magnitude, root_of_square(graph, magnitude, 1));
  Var* result = binary(graph, "mul", unary(graph, "sign", x.var), unary(graph, "log", sum));
  network.set(layer, result, x);
}

void translate_acosh(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  const Slot x = network.floats(layer, 0);
  Var* sum = binary(graph, "add", x.var, root_of_square(graph, x.var, -1));
  network.set(layer, unary(graph, "log", sum), x);
}

void translate_clip(Network& network, const Layer& layer) {
  const Slot x = network.floats(layer, 0);
  network.set(
      layer,
      network.graph.add("clip", {{"x", {x.var}},
                                 {"alpha", {number(layer.parameters.number({1, "minVal"}))}},
                                 {"beta", {number(layer.parameters.number({2, "maxVal"}))}}}),
      x);
}

enum UnaryType : int64_t {
  UnarySqrt,
  UnaryRsqrt,
  UnaryInverse,
  UnaryPower,
  UnaryExp,
  UnaryLog,
  UnaryAbs,
  UnaryThreshold
};

void translate_unary(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  const Fields& parameters = layer.parameters;
  const Slot x = network.floats(layer, 0);
  const float alpha = parameters.number({2, "alpha"}), shift = parameters.number({4, "shift"});
  const float scale = parameters.number({5, "scale"}), stored = parameters.number({3, "epsilon"});
  const float epsilon = stored == 0 ? 1e-6F : stored;
  Var* u = x.var;
  if (scale != 0 && scale != 1) u = binary(graph, "mul", u, number(scale));
  if (shift != 0) u = binary(graph, "add", u, number(shift));
  const auto with_epsilon = [&](std::string_view op) {
    return graph.add(op, {{"x", {u}}, {"epsilon", {number(epsilon)}}});
  };
  const int64_t type = parameters.integer({1, "type"});
  Var* result = nullptr;
  switch (type) {
    case UnarySqrt:
      result = unary(graph, "sqrt", u);
      break;
    case UnaryRsqrt:
      result = with_epsilon("rsqrt");
      break;
    case UnaryInverse:
      result = with_epsilon("inverse");
      break;
    case UnaryPower:
      result = alpha == 2 ? unary(graph, "square", u) : binary(graph, "pow", u, number(alpha));
      break;
    case UnaryExp:
      result = unary(graph, "exp", u);
      break;
    case UnaryLog:
      result = with_epsilon("log");
      break;
    case UnaryAbs:
      result = unary(graph, "abs", u);
      break;
    case UnaryThreshold:
      result = graph.add("threshold", {{"x", {u}}, {"alpha", {number(alpha)}}});
      break;
    default:
      fail(ErrorCode::InvalidFile, "unknown function {}", type);
  }
  network.set(layer, result, x);
}

}  // namespace

std::span<const LayerKind> unary_layers() {
  static constexpr LayerKind kKinds[] = {
      {220, "unary", translate_unary},  {660, "clip", translate_clip},
      {665, "ceil", translate_simple},  {670, "floor", translate_simple},
      {680, "sign", translate_simple},  {685, "round", translate_simple},
      {700, "exp2", translate_simple},  {710, "sin", translate_simple},
      {715, "cos", translate_simple},   {720, "tan", translate_simple},
      {730, "asin", translate_simple},  {735, "acos", translate_simple},
      {740, "atan", translate_simple},  {750, "sinh", translate_simple},
      {755, "cosh", translate_simple},  {760, "tanh", translate_simple},
      {770, "asinh", translate_asinh},  {775, "acosh", translate_acosh},
      {780, "atanh", translate_simple}, {790, "erf", translate_simple}};
  return kKinds;
}

}  // namespace pippin::mil::networks
