// Activations, as operations or written as their formulas.
#pragma once

#include <optional>
#include <string>

#include "pippin/engine/fusion/match.h"
#include "pippin/kernels/elementwise/args.h"

namespace pippin::engine {

// op(x) of the kernels, with alpha and beta.
struct Activation {
  kernels::UnaryOp op;
  std::string name;
  const mil::Var* x = nullptr;
  float alpha = 0, beta = 0;
};

// The activation that computes a value: the operations silu, gelu and sigmoid, and formulas: x *
// sigmoid(x), x * sigmoid(1.702 x), x/2 * (1 + erf(x / sqrt 2)), x/2 * (1 + tanh(sqrt(2/pi) * (x +
// 0.044715 x^3))), x * relu6(x + 3) / 6, c * tanh(x / c) and the like.
std::optional<Activation> activation_of(Builder& builder, const mil::Var* var);
// The same for an operation's result, formulas only.
std::optional<Activation> formula_of(Builder& builder, const mil::Operation& operation);

}  // namespace pippin::engine
