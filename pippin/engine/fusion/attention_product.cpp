#include "pippin/engine/fusion/attention_product.h"

#include <numeric>

#include "pippin/mil/ops/product.h"

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

bool is_product_of_peers(const Operation& operation) {
  const auto product = mil::product_of(operation);
  return product && product->of_peers;
}

std::optional<MatrixProduct> parse_product(const Builder& builder, const Operation* operation) {
  if (operation == nullptr || !mil::is_float(builder.info(operation->output()).type))
    return std::nullopt;
  const auto parsed = mil::product_of(*operation);
  if (!parsed || !parsed->of_peers || !parsed->is_of_matrices()) return std::nullopt;
  MatrixProduct product;
  for (size_t i = 0; i < 2; ++i) {
    const mil::Product::Operand& operand = parsed->operands[i];
    product.operands[i] = operand.binding;
    product.roles[i] = {operand.batch, operand.own.front(), operand.summed.front()};
    product.own[i] = parsed->own[i].front();
  }
  product.batch = parsed->batch;
  return product;
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

}  // namespace pippin::engine
