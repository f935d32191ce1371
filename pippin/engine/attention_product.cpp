#include "pippin/engine/attention_product.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "pippin/engine/rules.h"

namespace pippin::engine {

using mil::Operation;
using mil::Var;

const Var* var_of(const mil::Binding& binding) {
  const auto* var = std::get_if<Var*>(&binding);
  return var == nullptr ? nullptr : *var;
}

const Operation* direct_producer(const Var* var) {
  return var == nullptr ? nullptr : var->producer;
}

Axes first_axes(int64_t count) {
  Axes axes(static_cast<size_t>(count));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

namespace {

std::optional<MatrixProduct> parse_matmul(const Builder& builder, const Operation& operation) {
  MatrixProduct product;
  const char* names[] = {"x", "y"};
  const char* turned[] = {"transpose_x", "transpose_y"};
  const auto rank = static_cast<int64_t>(builder.info(operation.output()).shape.size());
  for (int i = 0; i < 2; ++i) {
    product.operands[i] = &operation.find_input(names[i])->front();
    if (static_cast<int64_t>(builder.shape(operation, names[i]).size()) != rank || rank < 2)
      return std::nullopt;
    const bool swapped = bool_param(builder, operation, turned[i]) != (i == 1);
    product.roles[i] = {first_axes(rank - 2), swapped ? rank - 1 : rank - 2,
                        swapped ? rank - 2 : rank - 1};
  }
  product.batch = first_axes(rank - 2);
  product.own[0] = rank - 2;
  product.own[1] = rank - 1;
  return product;
}

std::optional<MatrixProduct> parse_einsum(const Builder& builder, const Operation& operation) {
  std::string equation = string_param(builder, operation, "equation");
  std::erase(equation, ' ');
  const mil::Argument* values = operation.find_input("values");
  const size_t comma = equation.find(','), arrow = equation.find("->");
  if (values == nullptr || values->size() != 2 || comma == equation.npos ||
      arrow == equation.npos || arrow < comma) {
    return std::nullopt;
  }
  const std::string letters[] = {equation.substr(0, comma),
                                 equation.substr(comma + 1, arrow - comma - 1)};
  const std::string result = equation.substr(arrow + 2);
  if (letters[0].size() != letters[1].size() || letters[0].size() != result.size())
    return std::nullopt;
  const auto axis = [](const std::string& of, char letter) {
    const size_t at = of.find(letter);
    return at == of.npos ? int64_t{-1} : static_cast<int64_t>(at);
  };
  MatrixProduct product;
  for (size_t i = 0; i < 2; ++i) {
    product.operands[i] = &values->at(i);
    const std::string& other = letters[1 - i];
    int owns = 0, sums = 0;
    for (const char letter : letters[i]) {
      if (std::count(letters[i].begin(), letters[i].end(), letter) != 1) return std::nullopt;
      const bool in_other = axis(other, letter) >= 0, in_result = axis(result, letter) >= 0;
      if (in_result && !in_other) {
        product.roles[i].own = axis(letters[i], letter);
        product.own[i] = axis(result, letter);
        ++owns;
      } else if (!in_result && in_other) {
        product.roles[i].summed = axis(letters[i], letter);
        ++sums;
      } else if (!in_result) {
        return std::nullopt;
      }
    }
    if (owns != 1 || sums != 1) return std::nullopt;
  }
  for (const char letter : letters[0]) {  // in one order for all
    if (axis(letters[1], letter) < 0 || axis(result, letter) < 0) continue;
    product.roles[0].batch.push_back(axis(letters[0], letter));
    product.roles[1].batch.push_back(axis(letters[1], letter));
    product.batch.push_back(axis(result, letter));
  }
  return product;
}

}  // namespace

std::optional<MatrixProduct> parse_product(const Builder& builder, const Operation* operation) {
  if (operation == nullptr) return std::nullopt;
  const bool is_matmul = operation->type() == "matmul";
  if (!is_matmul && operation->type() != "einsum") return std::nullopt;
  if (!mil::is_float(builder.info(operation->output()).type)) return std::nullopt;
  return is_matmul ? parse_matmul(builder, *operation) : parse_einsum(builder, *operation);
}

std::optional<double> constant_number(const Operation& operation, std::string_view parameter) {
  const mil::Value* value = operation.constant_input(parameter);
  if (value == nullptr || value->type.num_elements() != 1 || !mil::is_float(value->type.data_type))
    return std::nullopt;
  return value->to_doubles()[0];
}

std::optional<Factor> parse_factor(const Operation& operation) {
  if (operation.type() == "mul") {
    if (const auto y = constant_number(operation, "y")) return Factor{"x", *y};
    if (const auto x = constant_number(operation, "x")) return Factor{"y", *x};
  } else if (operation.type() == "real_div") {
    if (const auto y = constant_number(operation, "y")) return Factor{"x", 1 / *y};
  }
  return std::nullopt;
}

bool is_cast(const Builder& builder, const Operation& operation) {
  if (operation.type() == "identity") return true;
  const Var* x = operation.input_var("x");
  return operation.type() == "cast" && x != nullptr && mil::is_float(builder.info(x).type) &&
         mil::is_float(builder.info(operation.output()).type);
}

}  // namespace pippin::engine
