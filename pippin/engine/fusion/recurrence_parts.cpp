#include "pippin/engine/fusion/recurrence_parts.h"

#include <cmath>
#include <utility>

#include "pippin/engine/fusion/match.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {

using mil::Dim;
using mil::Operation;
using mil::Shape;
using mil::Var;

const Var* argument_of(const Var* var, std::string_view type) {
  const Operation* operation = producer(var, type);
  return operation != nullptr ? operation->input_var("x") : nullptr;
}

std::optional<Factors> operands(const Var* var, std::string_view type) {
  const Operation* operation = producer(var, type);
  if (operation == nullptr) return std::nullopt;
  const Factors factors = {operation->input_var("x"), operation->input_var("y")};
  if (factors.x == nullptr || factors.y == nullptr) return std::nullopt;
  return factors;
}

std::optional<Factors> matrices(Builder& builder, const Var* var, bool transpose_x,
                                bool transpose_y) {
  const Operation* operation = producer(var, "matmul");
  if (operation == nullptr || bool_param(builder, *operation, "transpose_x") != transpose_x ||
      bool_param(builder, *operation, "transpose_y") != transpose_y) {
    return std::nullopt;
  }
  return operands(var, "matmul");
}

bool is_integer(const Operation& operation, std::string_view parameter, int64_t value) {
  const mil::Value* constant = operation.constant_input(parameter);
  return constant != nullptr && constant->type.num_elements() == 1 &&
         constant->to_ints().front() == value;
}

bool are_places(const Var* var) {
  const Operation* range = var == nullptr ? nullptr : producer(unreshaped(var), "range_1d");
  return range != nullptr && is_integer(*range, "start", 0) && is_integer(*range, "step", 1);
}

bool counts(Builder& builder, const Var* var, size_t axis, const Dim& count) {
  if (!are_places(var)) return false;
  Shape shape = {1, 1};
  shape[axis] = count;
  return builder.info(var).shape == shape;
}

bool is_no_later(Builder& builder, const Var* var, const Dim& tokens) {
  const auto sides = operands(var, "less_equal");
  return sides && counts(builder, sides->x, 1, tokens) && counts(builder, sides->y, 0, tokens);
}

bool is_left(Builder& builder, const Var* var, const Var* column, const Dim& tokens) {
  const Var* exponent = argument_of(var, "exp");
  const Operation* chosen = exponent == nullptr ? nullptr : producer(exponent, "select");
  if (chosen == nullptr || builder.number(*chosen, "b") != -INFINITY ||
      !is_no_later(builder, chosen->input_var("cond"), tokens)) {
    return false;
  }
  const auto difference = operands(chosen->input_var("a"), "sub");
  if (!difference || !same_value(builder, difference->x, column)) return false;
  Shape row = builder.info(column).shape;
  std::swap(row[2], row[3]);
  return builder.info(difference->y).shape == row &&
         same_value(builder, unreshaped(difference->y), unreshaped(column));
}

}  // namespace pippin::engine
