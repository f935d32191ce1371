#include "pippin/mil/ops/product.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "pippin/mil/ops/einsum.h"
#include "pippin/mil/ops/op.h"

namespace pippin::mil {
namespace {

using Axes = Product::Axes;

Axes axes_from(int64_t first, int64_t end) {
  Axes axes(static_cast<size_t>(std::max<int64_t>(end - first, 0)));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

const ValueType& type_of(const Binding& binding) {
  if (Var* const* var = std::get_if<Var*>(&binding)) return (*var)->type;
  return std::get<Value>(binding).type;
}

// The two operands without their roles; nullopt if one is missing or has no known rank.
std::optional<Product> with_operands(const Binding* x, const Binding* weight) {
  Product product;
  product.operands[0].binding = x;
  product.operands[1].binding = weight;
  for (const Product::Operand& operand : product.operands) {
    if (operand.binding == nullptr || !type_of(*operand.binding).ranked) return std::nullopt;
  }
  return product;
}

const Binding* single(const Operation& operation, std::string_view parameter) {
  const Argument* argument = operation.find_input(parameter);
  return argument == nullptr || argument->size() != 1 ? nullptr : &argument->front();
}

// An absent flag is false; nullopt if its value is not known.
std::optional<bool> flag(const Operation& operation, std::string_view parameter) {
  if (operation.find_input(parameter) == nullptr) return false;
  const Value* value = operation.constant_input(parameter);
  if (value == nullptr) return std::nullopt;
  const std::vector<int64_t> ints = value->to_ints();
  if (ints.size() != 1) return std::nullopt;
  return ints[0] != 0;
}

std::optional<Product> convolution(const Operation& operation, int64_t out, int64_t in) {
  auto product = with_operands(single(operation, "x"), single(operation, "weight"));
  if (!product) return std::nullopt;
  auto& [x, weight] = product->operands;
  const int64_t rank = x.rank();
  if (rank < 3 || weight.rank() != rank) return std::nullopt;
  x.own = {0};
  x.summed = {1};
  x.others = axes_from(2, rank);
  weight.own = {out};
  weight.summed = {in};
  weight.others = axes_from(2, rank);
  product->own = {Axes{0}, Axes{1}};
  return product;
}

}  // namespace

const Var* Product::Operand::var() const {
  Var* const* var = std::get_if<Var*>(binding);
  return var == nullptr ? nullptr : *var;
}

int64_t Product::Operand::rank() const {
  return static_cast<int64_t>(type_of(*binding).dims.size());
}

bool Product::is_of_matrices() const {
  return std::all_of(operands.begin(), operands.end(), [&](const Operand& operand) {
    return operand.own.size() == 1 && operand.summed.size() == 1 && operand.others.empty() &&
           operand.batch.size() == batch.size();
  });
}

std::optional<Product> product_of(const Operation& operation) {
  const OpDef* def = find_op(operation.type());
  return def == nullptr || def->product == nullptr ? std::nullopt : def->product(operation);
}

std::optional<Product> linear_product(const Operation& operation) {
  auto product = with_operands(single(operation, "x"), single(operation, "weight"));
  if (!product) return std::nullopt;
  auto& [x, weight] = product->operands;
  const int64_t last = x.rank() - 1;
  if (last < 0 || weight.rank() != 2) return std::nullopt;
  x.own = axes_from(0, last);
  x.summed = {last};
  weight.own = {0};
  weight.summed = {1};
  product->own = {x.own, Axes{last}};
  return product;
}

std::optional<Product> matmul_product(const Operation& operation) {
  auto product = with_operands(single(operation, "x"), single(operation, "y"));
  const auto transpose_x = flag(operation, "transpose_x");
  const auto transpose_y = flag(operation, "transpose_y");
  if (!product || !transpose_x || !transpose_y) return std::nullopt;
  product->of_peers = true;
  const bool sums_last[] = {!*transpose_x, *transpose_y};
  int64_t result_rank = 0;
  for (size_t i = 0; i < 2; ++i) {
    Product::Operand& operand = product->operands[i];
    const int64_t rank = operand.rank();
    if (rank == 0) return std::nullopt;
    result_rank = std::max(result_rank, rank - 2);
    operand.batch = axes_from(0, rank - 2);
    if (rank == 1) {  // a row or a column, which the result does not have
      operand.summed = {0};
    } else {
      operand.own = {sums_last[i] ? rank - 2 : rank - 1};
      operand.summed = {sums_last[i] ? rank - 1 : rank - 2};
    }
  }
  product->batch = axes_from(0, result_rank);
  for (size_t i = 0; i < 2; ++i) {
    if (!product->operands[i].own.empty()) product->own[i] = {result_rank++};
  }
  return product;
}

std::optional<Product> einsum_product(const Operation& operation) {
  const Argument* values = operation.find_input("values");
  const Value* equation = operation.constant_input("equation");
  if (values == nullptr || values->size() != 2 || equation == nullptr) return std::nullopt;
  auto product = with_operands(&values->at(0), &values->at(1));
  if (!product) return std::nullopt;
  const Einsum einsum = parse_einsum(equation->to_string_value());
  product->of_peers = true;
  for (size_t i = 0; i < 2; ++i) {
    Product::Operand& operand = product->operands[i];
    const std::string& letters = einsum.operands[i];
    if (static_cast<int64_t>(letters.size()) != operand.rank()) return std::nullopt;
    for (size_t axis = 0; axis < letters.size(); ++axis) {
      const Einsum::Role role = einsum.role(i, axis);
      Axes& axes = role == Einsum::Role::Own      ? operand.own
                   : role == Einsum::Role::Summed ? operand.summed
                                                  : operand.others;
      if (role != Einsum::Role::Batch) axes.push_back(static_cast<int64_t>(axis));
    }
  }
  const auto add_all = [](const std::string& letters, char letter, Axes& axes) {
    for (size_t at = letters.find(letter); at != letters.npos; at = letters.find(letter, at + 1)) {
      axes.push_back(static_cast<int64_t>(at));
    }
  };
  // All use the order of the first operand.
  const std::string& first = einsum.operands[0];
  for (size_t axis = 0; axis < first.size(); ++axis) {
    if (einsum.role(0, axis) != Einsum::Role::Batch || first.find(first[axis]) != axis) continue;
    add_all(first, first[axis], product->operands[0].batch);
    add_all(einsum.operands[1], first[axis], product->operands[1].batch);
    add_all(einsum.result, first[axis], product->batch);
  }
  for (size_t i = 0; i < 2; ++i) {
    for (const int64_t axis : product->operands[i].own) {
      add_all(einsum.result, einsum.operands[i][static_cast<size_t>(axis)], product->own[i]);
    }
  }
  return product;
}

std::optional<Product> conv_product(const Operation& operation) {
  return convolution(operation, 0, 1);
}

std::optional<Product> conv_transpose_product(const Operation& operation) {
  return convolution(operation, 1, 0);
}

}  // namespace pippin::mil
