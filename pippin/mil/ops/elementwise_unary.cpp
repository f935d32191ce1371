// Elementwise ops of one tensor.
#include <algorithm>
#include <cmath>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/rules.h"

namespace pippin::mil {
namespace {

using Function = double (*)(double);

template <Function f>
Tensors evaluate_unary(EvalContext& context) {
  Tensor result = context.input("x");
  for (double& value : result.values) value = f(value);
  return one(std::move(result));
}

template <Function f>
OpDef unary(std::string_view name, std::string_view types, std::string_view doc) {
  return {name, Opset::CoreML5, {tensor("x", types)}, infer_like_x, evaluate_unary<f>, doc};
}

double sign(double x) {
  return x > 0 ? 1 : x < 0 ? -1 : x;
}
double square(double x) {
  return x * x;
}
double logical_not(double x) {
  return x == 0;
}
double abs(double x) {
  return std::abs(x);
}
double ceil(double x) {
  return std::ceil(x);
}
double floor(double x) {
  return std::floor(x);
}
double round(double x) {
  return std::nearbyint(x);
}
double sqrt(double x) {
  return std::sqrt(x);
}
double exp(double x) {
  return std::exp(x);
}
double exp2(double x) {
  return std::exp2(x);
}
double sin(double x) {
  return std::sin(x);
}
double cos(double x) {
  return std::cos(x);
}
double tan(double x) {
  return std::tan(x);
}
double asin(double x) {
  return std::asin(x);
}
double acos(double x) {
  return std::acos(x);
}
double atan(double x) {
  return std::atan(x);
}
double atanh(double x) {
  return std::atanh(x);
}
double sinh(double x) {
  return std::sinh(x);
}
double cosh(double x) {
  return std::cosh(x);
}
double tanh(double x) {
  return std::tanh(x);
}
double erf(double x) {
  return std::erf(x);
}

// The default is a constant of x's type: 1e-45 is 0 in fp16.
double epsilon_of(const EvalContext& context, const Tensor& x) {
  const double epsilon = context.float_param("epsilon");
  return context.has("epsilon") ? epsilon : round_to_type(epsilon, x.type);
}

double log_of(double x) {
  return std::log(x);
}
double rsqrt_of(double x) {
  return 1 / std::sqrt(x);
}
double inverse_of(double x) {
  return 1 / x;
}

template <Function f>
Tensors evaluate_with_epsilon(EvalContext& context) {
  Tensor result = context.input("x");
  const double epsilon = epsilon_of(context, result);
  for (double& value : result.values) value = f(value + epsilon);
  return one(std::move(result));
}

template <Function f>
OpDef with_epsilon(std::string_view name, double epsilon, std::string_view doc) {
  return {name,
          Opset::CoreML5,
          {tensor("x", "f"), optional_constant("epsilon", "f", epsilon)},
          infer_like_x,
          evaluate_with_epsilon<f>,
          doc};
}

Tensors evaluate_clip(EvalContext& context) {
  Tensor result = context.input("x");
  const double alpha = context.float_param("alpha"), beta = context.float_param("beta");
  for (double& value : result.values) {
    if (value < alpha) value = alpha;
    if (value > beta) value = beta;
  }
  return one(std::move(result));
}

Tensors evaluate_threshold(EvalContext& context) {
  Tensor result = context.input("x");
  const double alpha = context.float_param("alpha");
  for (double& value : result.values) {
    if (value < alpha) value = alpha;
  }
  return one(std::move(result));
}

Infos infer_cast(InferContext& context) {
  const ValueInfo& x = context.input("x");
  ValueInfo result = tensor_info(data_type_param(context, "dtype"), x.shape);
  if (x.elements && is_integer(result.type)) {
    std::vector<Dim> elements;
    for (const Dim& element : *x.elements) {
      if (const auto number = element.try_constant()) {
        const auto value = static_cast<double>(*number);
        elements.push_back(
            Dim(static_cast<int64_t>(is_float(x.type) ? saturate_to_type(value, result.type)
                                                      : round_to_type(value, result.type))));
        continue;
      }
      // Sizes pass through 16-bit types on their way; a run in which they would wrap is rejected.
      const int bits = std::min(bit_width(result.type), 53);
      const bool is_signed = is_signed_integer(result.type);
      const int64_t highest = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
      const int64_t lowest = is_signed ? -highest - 1 : 0;
      if (element.upper() > highest && bits < 32) {
        context.require_at_least(Dim(highest), element, "the size must fit the cast's type");
      }
      if (element.lower() < lowest && bits < 32) {
        context.require_at_least(element, Dim(lowest), "the size must fit the cast's type");
      }
      elements.push_back(element);
    }
    result.elements = std::move(elements);
  }
  return one(std::move(result));
}

Tensors evaluate_cast(EvalContext& context) {
  // Inference has compared the declared type with dtype; rounding to it does the rest.
  Tensor result = context.input("x");
  const DataType to = data_type_param(context, "dtype");
  if (is_float(result.type) && is_integer(to)) {
    for (double& value : result.values) value = saturate_to_type(value, to);
  }
  return one(std::move(result));
}

}  // namespace

std::vector<OpDef> elementwise_unary_ops() {
  std::vector<OpDef> ops = {
      unary<abs>("abs", "fi", "|x|."),
      unary<acos>("acos", "f", "The angle in [0, pi] whose cosine is x."),
      unary<asin>("asin", "f", "The angle in [-pi/2, pi/2] whose sine is x."),
      unary<atan>("atan", "f", "The angle in (-pi/2, pi/2) whose tangent is x."),
      unary<atanh>("atanh", "f", "The inverse hyperbolic tangent of x."),
      unary<ceil>("ceil", "fi", "x rounded toward plus infinity."),
      unary<cos>("cos", "f", "The cosine of x in radians."),
      unary<cosh>("cosh", "f", "The hyperbolic cosine of x."),
      unary<erf>("erf", "f", "The Gauss error function of x."),
      unary<exp>("exp", "f", "e to the power of x."),
      unary<exp2>("exp2", "fi", "2 to the power of x."),
      unary<floor>("floor", "fi", "x rounded toward minus infinity."),
      unary<logical_not>("logical_not", "b", "Whether x is false."),
      unary<round>("round", "fi", "x rounded to the nearest integer, halves to the even one."),
      unary<sign>("sign", "fi", "-1, 0 or 1 as x is negative, zero or positive."),
      unary<sin>("sin", "f", "The sine of x in radians."),
      unary<sinh>("sinh", "f", "The hyperbolic sine of x."),
      unary<sqrt>("sqrt", "f", "The square root of x."),
      unary<square>("square", "fi", "x * x."),
      unary<tan>("tan", "f", "The tangent of x in radians."),
      unary<tanh>("tanh", "f", "The hyperbolic tangent of x."),
      with_epsilon<log_of>("log", 1e-45,
                           "The natural logarithm of x + epsilon; the default epsilon is 0 in "
                           "fp16."),
      with_epsilon<rsqrt_of>("rsqrt", 1e-12, "1 / sqrt(x + epsilon)."),
      with_epsilon<inverse_of>("inverse", 1e-4, "1 / (x + epsilon)."),
      {"clip",
       Opset::CoreML5,
       {tensor("x", "fi"), constant("alpha", "fi"), constant("beta", "fi")},
       infer_like_x,
       evaluate_clip,
       "x limited to [alpha, beta]."},
      {"threshold",
       Opset::CoreML5,
       {tensor("x", "fi"), constant("alpha", "fi")},
       infer_like_x,
       evaluate_threshold,
       "The larger of x and alpha."},
      {.name = "cast",
       .parameters = {tensor("x"), constant("dtype", "s")},
       .infer = infer_cast,
       .evaluate = evaluate_cast,
       .doc = "x converted to the element type dtype. Floats are truncated toward zero to integers "
              "and "
              "saturate, NaN becomes 0; integers wrap; anything but zero is true.",
       .traits = {Trait::Converts}},
  };
  return with_traits({Trait::Elementwise}, std::move(ops));
}

}  // namespace pippin::mil
