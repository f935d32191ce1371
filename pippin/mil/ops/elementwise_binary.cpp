// Elementwise ops of two tensors, and select.
#include <cmath>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/rules.h"

namespace pippin::mil {
namespace {

using Elements = std::optional<std::vector<Dim>>;
using Expression = std::optional<Dim> (*)(const Dim&, const Dim&);

// The position in `own`, broadcast to `shape`, of every element.
std::vector<size_t> broadcast_places(const Dims& own, const Dims& shape) {
  const Dims own_strides = strides_of(own);
  Dims strides(shape.size(), 0);
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i] != 1) strides[i + shape.size() - own.size()] = own_strides[i];
  }
  std::vector<size_t> places;
  for_each_index(shape, [&](const Dims& index) {
    places.push_back(static_cast<size_t>(offset_of(index, strides)));
  });
  return places;
}

// Known elements broadcast to the known shape of the result.
Elements broadcast_elements(const ValueInfo& info, const Shape& shape) {
  const auto own = constant_shape(info.shape);
  const auto result = constant_shape(shape);
  if (!info.elements || !own || !result || num_elements(*result) > kMaxElements)
    return std::nullopt;
  std::vector<Dim> elements;
  for (const size_t place : broadcast_places(*own, *result)) {
    elements.push_back((*info.elements)[place]);
  }
  return elements;
}

Elements combine(const ValueInfo& x, const ValueInfo& y, const Shape& shape, Expression f) {
  const Elements a = broadcast_elements(x, shape), b = broadcast_elements(y, shape);
  if (!a || !b) return std::nullopt;
  std::vector<Dim> elements;
  for (size_t i = 0; i < a->size(); ++i) {
    const auto element = f((*a)[i], (*b)[i]);
    if (!element) return std::nullopt;
    elements.push_back(*element);
  }
  return elements;
}

std::optional<Dim> truth(std::optional<bool> known) {
  if (!known) return std::nullopt;
  return Dim(*known ? 1 : 0);
}
std::optional<bool> negated(std::optional<bool> known) {
  if (known) known = !*known;
  return known;
}

std::optional<Dim> add_dims(const Dim& a, const Dim& b) {
  return a + b;
}
std::optional<Dim> sub_dims(const Dim& a, const Dim& b) {
  return a - b;
}
std::optional<Dim> mul_dims(const Dim& a, const Dim& b) {
  return a * b;
}
std::optional<Dim> floor_div_dims(const Dim& a, const Dim& b) {
  if (b.lower() <= 0 && b.upper() >= 0) return std::nullopt;
  return floor_div(a, b);
}
std::optional<Dim> truncated_div_dims(const Dim& a, const Dim& b) {
  // Truncation equals the floor if neither sign is negative.
  if (a.lower() >= 0 && b.lower() > 0) return floor_div(a, b);
  if (!a.is_constant() || !b.is_constant() || b == Dim(0)) return std::nullopt;
  return Dim(a.constant() / b.constant());
}
std::optional<Dim> mod_dims(const Dim& a, const Dim& b) {
  if (b.lower() <= 0 && b.upper() >= 0) return std::nullopt;
  return mod(a, b);
}
std::optional<Dim> minimum_dims(const Dim& a, const Dim& b) {
  return minimum(a, b);
}
std::optional<Dim> maximum_dims(const Dim& a, const Dim& b) {
  return maximum(a, b);
}
std::optional<Dim> no_dims(const Dim&, const Dim&) {
  return std::nullopt;
}

std::optional<Dim> equal_dims(const Dim& a, const Dim& b) {
  return truth(known_equal(a, b));
}
std::optional<Dim> not_equal_dims(const Dim& a, const Dim& b) {
  return truth(negated(known_equal(a, b)));
}
std::optional<Dim> less_dims(const Dim& a, const Dim& b) {
  return truth(known_less(a, b));
}
std::optional<Dim> less_equal_dims(const Dim& a, const Dim& b) {
  return truth(negated(known_less(b, a)));
}
std::optional<Dim> greater_dims(const Dim& a, const Dim& b) {
  return truth(known_less(b, a));
}
std::optional<Dim> greater_equal_dims(const Dim& a, const Dim& b) {
  return truth(negated(known_less(a, b)));
}

template <Expression f, bool comparison>
Infos infer_binary(InferContext& context) {
  const ValueInfo &x = context.input("x"), &y = context.input("y");
  if (x.type != y.type) {
    context.reject("x is {} and y is {}", to_string(x.type), to_string(y.type));
  }
  ValueInfo result =
      tensor_info(comparison ? DataType::Bool : x.type, broadcast(context, x.shape, y.shape));
  result.elements = combine(x, y, result.shape, f);
  return one(std::move(result));
}

using BinaryFunction = double (*)(double, double);

template <BinaryFunction f>
Tensors evaluate_binary(EvalContext& context) {
  const Tensor &x = context.input("x"), &y = context.input("y");
  const Dims shape = broadcast(context, x.shape, y.shape);
  const Tensor a = broadcast_to(context, x, shape), b = broadcast_to(context, y, shape);
  Tensor result(x.type, shape);
  for (size_t i = 0; i < result.values.size(); ++i) {
    result.values[i] = f(a.values[i], b.values[i]);
  }
  return one(std::move(result));
}

double add(double x, double y) {
  return x + y;
}
double sub(double x, double y) {
  return x - y;
}
double mul(double x, double y) {
  return x * y;
}
double real_div(double x, double y) {
  return x / y;
}
double floor_div(double x, double y) {
  return std::floor(x / y);
}
double mod(double x, double y) {
  if (std::isinf(y) && std::isfinite(x)) return (x < 0) != (y < 0) && x != 0 ? y : x;
  const double remainder = std::fmod(x, y);
  return remainder != 0 && (remainder < 0) != (y < 0) ? remainder + y : remainder;
}
double pow(double x, double y) {
  return std::pow(x, y);
}
double maximum(double x, double y) {
  return std::isnan(x) || x > y ? x : y;
}
double minimum(double x, double y) {
  return std::isnan(x) || x < y ? x : y;
}
double equal(double x, double y) {
  return x == y;
}
double not_equal(double x, double y) {
  return x != y;
}
double less(double x, double y) {
  return x < y;
}
double less_equal(double x, double y) {
  return x <= y;
}
double greater(double x, double y) {
  return x > y;
}
double greater_equal(double x, double y) {
  return x >= y;
}
double logical_and(double x, double y) {
  return x != 0 && y != 0;
}
double logical_or(double x, double y) {
  return x != 0 || y != 0;
}
double logical_xor(double x, double y) {
  return (x != 0) != (y != 0);
}

template <BinaryFunction f, Expression dims>
OpDef arithmetic(std::string_view name, std::string_view doc) {
  return {name,
          Opset::CoreML5,
          {tensor("x", "fi"), tensor("y", "fi")},
          infer_binary<dims, false>,
          evaluate_binary<f>,
          doc};
}
template <BinaryFunction f, Expression dims>
OpDef comparison(std::string_view name, std::string_view doc) {
  return {name,
          Opset::CoreML5,
          {tensor("x"), tensor("y")},
          infer_binary<dims, true>,
          evaluate_binary<f>,
          doc};
}
template <BinaryFunction f>
OpDef logical(std::string_view name, std::string_view doc) {
  return {name,
          Opset::CoreML5,
          {tensor("x", "b"), tensor("y", "b")},
          infer_binary<no_dims, true>,
          evaluate_binary<f>,
          doc};
}

Infos infer_select(InferContext& context) {
  const ValueInfo &cond = context.input("cond"), &a = context.input("a"), &b = context.input("b");
  if (a.type != b.type) {
    context.reject("a is {} and b is {}", to_string(a.type), to_string(b.type));
  }
  ValueInfo result =
      tensor_info(a.type, broadcast(context, broadcast(context, a.shape, b.shape), cond.shape));
  const Elements choices = broadcast_elements(cond, result.shape);
  const Elements yes = broadcast_elements(a, result.shape);
  const Elements no = broadcast_elements(b, result.shape);
  if (choices && yes && no) {
    std::vector<Dim> elements;
    for (size_t i = 0; i < choices->size(); ++i) {
      if (!(*choices)[i].is_constant()) return one(std::move(result));
      elements.push_back((*choices)[i] != Dim(0) ? (*yes)[i] : (*no)[i]);
    }
    result.elements = std::move(elements);
  }
  return one(std::move(result));
}

Tensors evaluate_select(EvalContext& context) {
  const Tensor &cond = context.input("cond"), &a = context.input("a"), &b = context.input("b");
  const Dims shape = broadcast(context, broadcast(context, a.shape, b.shape), cond.shape);
  const Tensor choices = broadcast_to(context, cond, shape);
  Tensor result = broadcast_to(context, b, shape);
  const Tensor yes = broadcast_to(context, a, shape);
  for (size_t i = 0; i < result.values.size(); ++i) {
    if (choices.values[i] != 0) result.values[i] = yes.values[i];
  }
  return one(std::move(result));
}

}  // namespace

std::vector<OpDef> elementwise_binary_ops() {
  std::vector<OpDef> ops = {
      arithmetic<add, add_dims>("add", "x + y, broadcast."),
      arithmetic<sub, sub_dims>("sub", "x - y, broadcast."),
      arithmetic<mul, mul_dims>("mul", "x * y, broadcast."),
      arithmetic<real_div, truncated_div_dims>(
          "real_div", "x / y, broadcast. Of integers: the quotient, truncated toward zero."),
      arithmetic<floor_div, floor_div_dims>("floor_div",
                                            "x / y rounded toward minus infinity, broadcast."),
      arithmetic<mod, mod_dims>(
          "mod", "x - y * floor(x / y), broadcast: the remainder with the sign of y."),
      arithmetic<pow, no_dims>("pow", "x to the power of y, broadcast."),
      arithmetic<maximum, maximum_dims>("maximum", "The larger of x and y, broadcast."),
      arithmetic<minimum, minimum_dims>("minimum", "The smaller of x and y, broadcast."),
      comparison<equal, equal_dims>("equal", "Whether x == y, broadcast."),
      comparison<not_equal, not_equal_dims>("not_equal", "Whether x != y, broadcast."),
      comparison<less, less_dims>("less", "Whether x < y, broadcast."),
      comparison<less_equal, less_equal_dims>("less_equal", "Whether x <= y, broadcast."),
      comparison<greater, greater_dims>("greater", "Whether x > y, broadcast."),
      comparison<greater_equal, greater_equal_dims>("greater_equal", "Whether x >= y, broadcast."),
      logical<logical_and>("logical_and", "Whether x and y are both true, broadcast."),
      logical<logical_or>("logical_or", "Whether x or y is true, broadcast."),
      logical<logical_xor>("logical_xor", "Whether just one of x and y is true, broadcast."),
      {"select",
       Opset::CoreML5,
       {tensor("cond", "b"), tensor("a"), tensor("b")},
       infer_select,
       evaluate_select,
       "a where cond is true, else b; all three broadcast. Elements that are not chosen, even NaN "
       "or infinity, "
       "has no effect."},
  };
  return with_traits({Trait::Elementwise}, std::move(ops));
}

}  // namespace pippin::mil
