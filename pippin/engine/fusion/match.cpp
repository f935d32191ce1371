#include "pippin/engine/fusion/match.h"

#include "pippin/mil/ops/op.h"

namespace pippin::engine {

using mil::Operation;
using mil::Var;

namespace {

constexpr size_t kMaxFactors = 8;
constexpr int kMaxDepth = 8;

// In formulas, constants are numbers, not computed values.
bool is_computed(const Operation* operation) {
  return operation != nullptr && !mil::is_constant(*operation);
}

bool collect(Builder& builder, const Operation& operation, const IsFactor& is_factor, bool divides,
             int depth, Product& product);

bool collect(Builder& builder, const Operation& operation, std::string_view parameter,
             const IsFactor& is_factor, bool divides, int depth, Product& product) {
  if (const auto number = builder.number(operation, parameter)) {
    product.number = divides ? product.number / *number : product.number * *number;
    return true;
  }
  const Var* var = operation.input_var(parameter);
  if (var == nullptr) return false;
  const Operation* made_by = producer(var);
  const bool whole = depth == kMaxDepth || (is_factor && is_factor(var));
  if (!whole && made_by != nullptr && (made_by->type() == "mul" || made_by->type() == "real_div")) {
    return collect(builder, *made_by, is_factor, divides, depth + 1, product);
  }
  (divides ? product.divisors : product.factors).push_back(var);
  return product.factors.size() + product.divisors.size() <= kMaxFactors;
}

bool collect(Builder& builder, const Operation& operation, const IsFactor& is_factor, bool divides,
             int depth, Product& product) {
  const bool division = operation.type() == "real_div";
  return collect(builder, operation, "x", is_factor, divides, depth, product) &&
         collect(builder, operation, "y", is_factor, divides != division, depth, product);
}

}  // namespace

const Var* uncast(const Var* var) {
  while (var != nullptr && var->producer != nullptr && mil::is_float_cast(*var->producer)) {
    var = var->producer->input_var("x");
  }
  return var;
}

const Operation* producer(const Var* var) {
  var = uncast(var);
  return var != nullptr && is_computed(var->producer) ? var->producer : nullptr;
}

const Operation* producer(const Var* var, std::string_view type) {
  const Operation* operation = producer(var);
  return operation != nullptr && operation->type() == type ? operation : nullptr;
}

const Var* unreshaped(const Var* var) {
  for (;;) {
    var = uncast(var);
    const Operation* operation = producer(var);
    if (operation == nullptr || !mil::has_trait(*operation, mil::Trait::View)) return var;
    const Var* x = operation->input_var("x");
    if (x == nullptr) return var;
    var = x;
  }
}

bool same_value(Builder& builder, const Var* a, const Var* b) {
  a = uncast(a);
  b = uncast(b);
  if (a == nullptr || b == nullptr || a == b) return a == b && a != nullptr;
  if (!is_computed(a->producer) || !is_computed(b->producer) ||
      builder.info(a).shape != builder.info(b).shape || builder.info(a).elements ||
      builder.info(b).elements) {
    return false;
  }
  return builder.is_lowered(a) && builder.is_lowered(b) &&
         same_elements(builder.view(a), builder.view(b));
}

std::optional<WithNumber> with_number(Builder& builder, const Operation& operation) {
  for (const bool number_first : {false, true}) {
    const Var* var = operation.input_var(number_first ? "y" : "x");
    const auto number = builder.number(operation, number_first ? "x" : "y");
    if (var != nullptr && number) return WithNumber{var, *number, number_first};
  }
  return std::nullopt;
}

const Var* squared(Builder& builder, const Var* var) {
  const Operation* operation = producer(var);
  if (operation == nullptr) return nullptr;
  if (operation->type() == "square") return operation->input_var("x");
  if (operation->type() == "pow") {
    const auto power = builder.number(*operation, "y");
    return power == 2 ? operation->input_var("x") : nullptr;
  }
  if (operation->type() != "mul") return nullptr;
  const Var* x = operation->input_var("x");
  return same_value(builder, x, operation->input_var("y")) ? x : nullptr;
}

const Var* negated(Builder& builder, const Var* var) {
  const Operation* operation = producer(var);
  if (operation == nullptr) return nullptr;
  if (operation->type() == "mul") {
    const auto parts = with_number(builder, *operation);
    return parts && parts->number == -1 ? parts->var : nullptr;
  }
  if (operation->type() != "sub") return nullptr;
  const auto parts = with_number(builder, *operation);
  return parts && parts->number == 0 && parts->number_first ? parts->var : nullptr;
}

std::optional<Product> as_product(Builder& builder, const Operation& operation,
                                  const IsFactor& is_factor) {
  if (operation.type() != "mul" && operation.type() != "real_div") return std::nullopt;
  Product product;
  if (!collect(builder, operation, is_factor, /*divides=*/false, /*depth=*/0, product))
    return std::nullopt;
  return product;
}

}  // namespace pippin::engine
