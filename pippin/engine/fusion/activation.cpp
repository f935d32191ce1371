#include "pippin/engine/fusion/activation.h"

#include <cmath>

#include "pippin/engine/fusion/fusion.h"
#include "pippin/engine/lowering/elementwise_step.h"
#include "pippin/engine/lowering/planes.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

using kernels::UnaryOp;
using mil::Operation;
using mil::Var;

// Some programs hold their constants in fp16: 3 digits.
bool is_about(double number, double expected) {
  return std::abs(number - expected) <= 6e-4 * std::abs(expected);
}

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kSqrtTwoOverPi = 0.79788456080286535588;
constexpr double kCube = 0.044715;

// number * x, or x itself.
struct Multiplied {
  double number = 1;
  const Var* x = nullptr;
};
std::optional<Multiplied> scaled(Builder& builder, const Var* var) {
  const Operation* operation = producer(var);
  if (operation == nullptr) return Multiplied{1, var};
  const bool division = operation->type() == "real_div";
  if (!division && operation->type() != "mul") return Multiplied{1, var};
  const auto parts = with_number(builder, *operation);
  if (!parts || (division && parts->number_first)) return Multiplied{1, var};
  return Multiplied{division ? 1 / parts->number : parts->number, parts->var};
}

// x if `var` is 1 + type(x).
const Var* one_plus(Builder& builder, const Var* var, std::string_view type) {
  const Operation* sum = producer(var, "add");
  const auto parts = sum != nullptr ? with_number(builder, *sum) : std::nullopt;
  if (!parts || parts->number != 1) return nullptr;
  const Operation* inner = producer(parts->var, type);
  return inner != nullptr ? inner->input_var("x") : nullptr;
}

// If `var` is x^3, perhaps times a number, returns that number.
std::optional<double> cube(Builder& builder, const Var* var, const Var* x) {
  const Operation* operation = producer(var);
  if (operation == nullptr) return std::nullopt;
  const auto is_x = [&](const Var* factor) { return same_value(builder, factor, x); };
  const auto is_cube = [&](const Var* factor) {
    const Operation* power = producer(factor, "pow");
    return power != nullptr && builder.number(*power, "y") == 3 && is_x(power->input_var("x"));
  };
  if (is_cube(var)) return 1;
  const auto product = as_product(builder, *operation, is_x);
  if (!product || !product->divisors.empty()) return std::nullopt;
  int degree = 0;
  for (const Var* factor : product->factors) {
    degree += is_x(factor)                                       ? 1
              : is_cube(factor)                                  ? 3
              : same_value(builder, squared(builder, factor), x) ? 2
                                                                 : 100;
  }
  return degree == 3 ? std::optional(product->number) : std::nullopt;
}

// Whether `var` is sqrt(2/pi) * (x + 0.044715 x^3), also as sqrt(2/pi) * x * (1 + 0.044715 x^2).
bool is_tanh_argument(Builder& builder, const Var* var, const Var* x) {
  const auto outer = scaled(builder, var);
  if (!outer) return false;
  if (const Operation* sum = producer(outer->x, "add")) {
    for (const bool swapped : {false, true}) {
      const Var* linear = sum->input_var(swapped ? "y" : "x");
      const auto factor = cube(builder, sum->input_var(swapped ? "x" : "y"), x);
      if (factor && same_value(builder, linear, x)) {
        return is_about(outer->number, kSqrtTwoOverPi) && is_about(*factor, kCube);
      }
    }
  }
  const Operation* operation = producer(var, "mul");
  const auto product =
      operation != nullptr
          ? as_product(builder, *operation, [&](const Var* v) { return same_value(builder, v, x); })
          : std::nullopt;
  if (!product || product->factors.size() != 2 || !product->divisors.empty()) return false;
  for (const bool swapped : {false, true}) {
    const Operation* sum = producer(product->factors[swapped ? 0 : 1], "add");
    const auto parts = sum != nullptr ? with_number(builder, *sum) : std::nullopt;
    if (!parts || parts->number != 1 ||
        !same_value(builder, product->factors[swapped ? 1 : 0], x)) {
      continue;
    }
    const auto square = scaled(builder, parts->var);
    return square && same_value(builder, squared(builder, square->x), x) &&
           is_about(product->number, kSqrtTwoOverPi) && is_about(square->number, kCube);
  }
  return false;
}

// x * number * f(x) where f clamps x + 3 or the like: x * relu6(x + 3) / 6.
std::optional<Activation> hard_swish(Builder& builder, double number, const Var* x,
                                     const Var* gate) {
  if (const Operation* hard = producer(gate, "sigmoid_hard")) {
    if (number != 1 || !same_value(builder, hard->input_var("x"), x)) return std::nullopt;
    return Activation{UnaryOp::HardSwish, "hard_swish", x,
                      static_cast<float>(float_param(builder, *hard, "alpha")),
                      static_cast<float>(float_param(builder, *hard, "beta"))};
  }
  const Operation* clip = producer(gate, "clip");
  const Operation* bounded = clip != nullptr ? clip : producer(gate, "relu6");
  const Operation* sum = bounded != nullptr ? producer(bounded->input_var("x"), "add") : nullptr;
  const auto shifted = sum != nullptr ? with_number(builder, *sum) : std::nullopt;
  if (!shifted || !same_value(builder, shifted->var, x)) return std::nullopt;
  const double most = clip != nullptr ? float_param(builder, *clip, "beta") : 6;
  if (clip != nullptr && float_param(builder, *clip, "alpha") != 0) return std::nullopt;
  if (most <= 0 || !is_about(number * most, 1)) return std::nullopt;
  return Activation{UnaryOp::HardSwish, "hard_swish", x, static_cast<float>(1 / most),
                    static_cast<float>(shifted->number / most)};
}

// The function f of a product x * f(x) with a number.
std::optional<Activation> gated(Builder& builder, double number, const Var* x, const Var* gate) {
  if (const Operation* sigmoid = producer(gate, "sigmoid")) {
    const auto inner = scaled(builder, sigmoid->input_var("x"));
    if (number != 1 || !inner) return std::nullopt;
    if (same_value(builder, sigmoid->input_var("x"), x)) {
      return Activation{UnaryOp::Silu, "silu", x};
    }
    const bool quick = same_value(builder, inner->x, x) && is_about(inner->number, 1.702);
    if (quick) return Activation{UnaryOp::GeluSigmoid, "gelu", x};
    return std::nullopt;
  }
  if (auto activation = hard_swish(builder, number, x, gate)) return activation;
  if (number != 0.5) return std::nullopt;
  if (const Var* argument = one_plus(builder, gate, "erf")) {
    const auto inner = scaled(builder, argument);
    const bool exact =
        inner && same_value(builder, inner->x, x) && is_about(inner->number, kSqrtHalf);
    if (exact) return Activation{UnaryOp::Gelu, "gelu", x};
  }
  if (const Var* argument = one_plus(builder, gate, "tanh")) {
    if (is_tanh_argument(builder, argument, x)) return Activation{UnaryOp::GeluTanh, "gelu", x};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Activation> formula_of(Builder& builder, const Operation& operation) {
  const auto product = as_product(builder, operation);
  if (!product || !product->divisors.empty()) return std::nullopt;
  if (product->factors.size() == 1) {
    const Operation* tanh = producer(product->factors[0], "tanh");
    if (tanh == nullptr) return std::nullopt;
    const auto inner = scaled(builder, tanh->input_var("x"));
    if (!inner) return std::nullopt;
    return Activation{UnaryOp::ScaledTanh, "scaled_tanh", inner->x,
                      static_cast<float>(product->number), static_cast<float>(inner->number)};
  }
  // x may be a product itself: the last factor that is a function of x shows where to stop.
  const auto is_argument = [&](const Var* x, const Var* gate) {
    return gated(builder, 1, x, gate) || gated(builder, 0.5, x, gate) ||
           gated(builder, 1.0 / 6, x, gate);
  };
  for (const Var* gate : product->factors) {
    for (const std::string_view type : {"sigmoid", "sigmoid_hard", "clip", "relu6", "add"}) {
      if (producer(gate, type) == nullptr) continue;
      const auto parts = as_product(builder, operation, [&](const Var* var) {
        return var == gate || is_argument(var, gate);
      });
      if (!parts || parts->factors.size() != 2 || !parts->divisors.empty()) continue;
      const Var* x = parts->factors[parts->factors[0] == gate ? 1 : 0];
      if (auto activation = gated(builder, parts->number, x, gate)) return activation;
    }
  }
  return std::nullopt;
}

std::optional<Activation> activation_of(Builder& builder, const Var* var) {
  const Operation* operation = producer(var);
  if (operation == nullptr) return std::nullopt;
  const std::string& type = operation->type();
  const Var* x = operation->input_var("x");
  if (type == "silu") return Activation{UnaryOp::Silu, type, x};
  if (type == "sigmoid") return Activation{UnaryOp::Sigmoid, type, x};
  if (type == "gelu") {
    const std::string mode = string_param(builder, *operation, "mode");
    return Activation{mode == "EXACT"                ? UnaryOp::Gelu
                      : mode == "TANH_APPROXIMATION" ? UnaryOp::GeluTanh
                                                     : UnaryOp::GeluSigmoid,
                      type, x};
  }
  return formula_of(builder, *operation);
}

bool fuse_activation(Builder& builder, const Operation& operation) {
  const auto activation = formula_of(builder, operation);
  if (!activation || builder.info(activation->x).shape != builder.info(operation.output()).shape) {
    return false;
  }
  const Finish finish = {.op = activation->op,
                         .name = activation->name,
                         .alpha = activation->alpha,
                         .beta = activation->beta};
  if (finish_where_computed(builder, operation, activation->x, {finish})) return true;
  const View x = builder.view_as(builder.view(activation->x), Storage::F32);
  builder.define_output(operation, unary_step(builder, activation->name, activation->op, x,
                                              activation->alpha, activation->beta));
  return true;
}

}  // namespace pippin::engine
