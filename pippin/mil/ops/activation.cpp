// Activation functions.
#include <algorithm>
#include <cmath>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/rules.h"

namespace pippin::mil {
namespace {

using Function = double (*)(double);
using Function3 = double (*)(double x, double alpha, double beta);

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}
double relu(double x) {
  return x < 0 ? 0 : x;
}
double relu6(double x) {
  return x < 0 ? 0 : x > 6 ? 6 : x;
}
double silu(double x) {
  return x == -HUGE_VAL ? 0 : x * sigmoid(x);
}
// log(1 + e^x) without overflow.
double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}
double softsign(double x) {
  return x / (1 + std::abs(x));
}

double leaky_relu(double x, double alpha, double) {
  return x < 0 ? alpha * x : x;
}
double elu(double x, double alpha, double) {
  return x < 0 ? alpha * std::expm1(x) : x;
}
double scaled_tanh(double x, double alpha, double beta) {
  return alpha * std::tanh(beta * x);
}
double sigmoid_hard(double x, double alpha, double beta) {
  const double y = alpha * x + beta;
  return y < 0 ? 0 : y > 1 ? 1 : y;
}
double linear_activation(double x, double alpha, double beta) {
  return alpha * x + beta;
}
double thresholded_relu(double x, double alpha, double) {
  return x >= alpha ? x : 0;
}
double clamped_relu(double x, double alpha, double beta) {
  const double y = x < 0 ? alpha * x : x;
  return y > beta ? beta : y;
}

template <Function f>
Tensors evaluate_simple(EvalContext& context) {
  Tensor result = context.input("x");
  for (double& value : result.values) value = f(value);
  return one(std::move(result));
}
template <Function f>
OpDef simple(std::string_view name, std::string_view doc) {
  return {name, Opset::CoreML5, {tensor("x", "f")}, infer_like_x, evaluate_simple<f>, doc};
}

template <Function3 f, bool has_beta>
Tensors evaluate_with_constants(EvalContext& context) {
  Tensor result = context.input("x");
  const double alpha = context.float_param("alpha");
  const double beta = has_beta ? context.float_param("beta") : 0;
  for (double& value : result.values) value = f(value, alpha, beta);
  return one(std::move(result));
}
// Required if it has no default.
Parameter factor(std::string_view name, DefaultValue value) {
  if (std::holds_alternative<std::monostate>(value)) return constant(name, "f");
  return optional_constant(name, "f", value);
}

template <Function3 f>
OpDef with_alpha(std::string_view name, DefaultValue alpha, std::string_view doc) {
  return {name,
          Opset::CoreML5,
          {tensor("x", "f"), factor("alpha", alpha)},
          infer_like_x,
          evaluate_with_constants<f, false>,
          doc};
}
template <Function3 f>
OpDef with_alpha_beta(std::string_view name, DefaultValue alpha, DefaultValue beta,
                      std::string_view doc) {
  return {name,
          Opset::CoreML5,
          {tensor("x", "f"), factor("alpha", alpha), factor("beta", beta)},
          infer_like_x,
          evaluate_with_constants<f, true>,
          doc};
}

// alpha and beta have one value per channel (axis 1).
template <Function3 f, bool has_beta>
Tensors evaluate_per_channel(EvalContext& context) {
  Tensor result = context.input("x");
  const Tensor& alpha = context.input("alpha");
  const Tensor& beta = has_beta ? context.input("beta") : alpha;
  const AxisView view(result.shape, 1);
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t c = 0; c < view.size; ++c) {
      const auto channel = static_cast<size_t>(c);
      for (int64_t n = 0; n < view.inner; ++n) {
        double& value = result.values[view.at(o, c, n)];
        value = f(value, alpha.values[channel], beta.values[channel]);
      }
    }
  }
  return one(std::move(result));
}

template <bool has_beta>
Infos infer_per_channel(InferContext& context) {
  const ValueInfo& x = context.input("x");
  if (x.shape.size() < 2) context.reject("x needs a channel axis, its rank is {}", x.shape.size());
  for (const std::string_view name : {"alpha", "beta"}) {
    if (name == "beta" && !has_beta) continue;
    const ValueInfo& parameter = context.input(name);
    if (parameter.shape.size() != 1) context.reject("{} must have rank 1", name);
    context.require_equal(parameter.shape[0], x.shape[1], "one value per channel");
  }
  return infer_like_x(context);
}

double prelu(double x, double alpha, double) {
  return x < 0 ? alpha * x : x;
}
double softplus_parametric(double x, double alpha, double beta) {
  return alpha * softplus(beta * x);
}

double gelu_exact(double x) {
  return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
}
double gelu_tanh(double x) {
  const double scale = std::sqrt(2 / M_PI);
  return 0.5 * x * (1 + std::tanh(scale * (x + 0.044715 * x * x * x)));
}
double gelu_sigmoid(double x) {
  return x * sigmoid(1.702 * x);
}

Function gelu_function(const OpContext& context) {
  const std::string mode = context.string_param("mode");
  if (mode == "EXACT") return gelu_exact;
  if (mode == "TANH_APPROXIMATION") return gelu_tanh;
  if (mode == "SIGMOID_APPROXIMATION") return gelu_sigmoid;
  context.reject("mode \"{}\" is unknown", mode);
}

Infos infer_gelu(InferContext& context) {
  gelu_function(context);
  return infer_like_x(context);
}
Tensors evaluate_gelu(EvalContext& context) {
  const Function f = gelu_function(context);
  Tensor result = context.input("x");
  for (double& value : result.values) value = value == -HUGE_VAL ? 0 : f(value);
  return one(std::move(result));
}

Infos infer_softmax(InferContext& context) {
  const auto rank = static_cast<int64_t>(context.input("x").shape.size());
  normalize_axis(context, context.int_param("axis"), rank);
  return infer_like_x(context);
}

Tensors evaluate_softmax(EvalContext& context) {
  Tensor result = context.input("x");
  const AxisView view(result.shape,
                      normalize_axis(context, context.int_param("axis"), result.rank()));
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t n = 0; n < view.inner; ++n) {
      double largest = -HUGE_VAL, sum = 0;
      for (int64_t i = 0; i < view.size; ++i) {
        largest = std::max(largest, result.values[view.at(o, i, n)]);
      }
      for (int64_t i = 0; i < view.size; ++i) {
        double& value = result.values[view.at(o, i, n)];
        value = std::exp(value - largest);
        sum += value;
      }
      for (int64_t i = 0; i < view.size; ++i) result.values[view.at(o, i, n)] /= sum;
    }
  }
  return one(std::move(result));
}

}  // namespace

std::vector<OpDef> activation_ops() {
  std::vector<OpDef> ops = {
      simple<relu>("relu", "The larger of x and 0."),
      simple<relu6>("relu6", "x limited to [0, 6]."),
      simple<sigmoid>("sigmoid", "1 / (1 + exp(-x))."),
      simple<silu>("silu", "x * sigmoid(x)."),
      simple<softplus>("softplus", "log(1 + exp(x))."),
      simple<softsign>("softsign", "x / (1 + |x|)."),
      with_alpha<leaky_relu>("leaky_relu", 0.01, "x where x >= 0, else alpha * x."),
      with_alpha<elu>("elu", 1.0, "x where x >= 0, else alpha * (exp(x) - 1)."),
      with_alpha<thresholded_relu>("thresholded_relu", 1.0, "x where x >= alpha, else 0."),
      with_alpha_beta<scaled_tanh>("scaled_tanh", 1.0, 1.0, "alpha * tanh(beta * x)."),
      with_alpha_beta<sigmoid_hard>("sigmoid_hard", 0.2, 0.5,
                                    "alpha * x + beta limited to [0, 1]."),
      with_alpha_beta<linear_activation>("linear_activation", {}, 0.0, "alpha * x + beta."),
      with_alpha_beta<clamped_relu>("clamped_relu", {}, {},
                                    "x where x >= 0, else alpha * x; then at most beta."),
      {"gelu",
       Opset::CoreML5,
       {tensor("x", "f"), optional_constant("mode", "s", "EXACT")},
       infer_gelu,
       evaluate_gelu,
       "x * P(a standard normal value <= x). mode: EXACT (erf), TANH_APPROXIMATION or "
       "SIGMOID_APPROXIMATION (x * sigmoid(1.702 x))."},
  };
  ops = with_traits({Trait::Elementwise}, std::move(ops));
  std::vector<OpDef> others = {
      {"prelu",
       Opset::CoreML5,
       {tensor("x", "f"), constant("alpha", "f")},
       infer_per_channel<false>,
       evaluate_per_channel<prelu, false>,
       "x where x >= 0, else alpha * x, with one alpha per channel (axis 1)."},
      {"softplus_parametric",
       Opset::CoreML5,
       {tensor("x", "f"), constant("alpha", "f"), constant("beta", "f")},
       infer_per_channel<true>,
       evaluate_per_channel<softplus_parametric, true>,
       "alpha * log(1 + exp(beta * x)), with one alpha and beta per channel (axis 1)."},
      {"softmax",
       Opset::CoreML5,
       {tensor("x", "f"), optional_constant("axis", "i", -1)},
       infer_softmax,
       evaluate_softmax,
       "exp(x) divided by its sum along axis, computed with the maximum subtracted. A line of "
       "nothing but -inf gives NaN."},
  };
  std::move(others.begin(), others.end(), std::back_inserter(ops));
  return ops;
}

}  // namespace pippin::mil
