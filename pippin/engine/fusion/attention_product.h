// Products of two operands with the roles of their axes, and the small operations around them in
// written-out attention.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

using Axes = std::vector<int64_t>;

// The roles of the axes of a product's operand.
struct Roles {
  Axes batch;  // that both operands and the result have
  int64_t own = 0;
  int64_t summed = 0;

  Axes order() const {
    Axes axes = batch;
    axes.push_back(own);
    axes.push_back(summed);
    return axes;
  }
};

// A product of two operands of the same rank; batch axes in the same order everywhere.
struct MatrixProduct {
  const mil::Binding* operands[2];
  Roles roles[2];
  Axes batch;      // of the result
  int64_t own[2];  // the operands' axes in the result
};

// Whether it multiplies two operands of which neither is declared a weight: queries and keys.
bool is_product_of_peers(const mil::Operation& operation);
// Such products of matrices if the operands and the result have the same rank.
std::optional<MatrixProduct> parse_product(const Builder& builder, const mil::Operation* operation);

// A product with one constant number as x * factor.
struct Factor {
  const char* x;
  double factor;
};
std::optional<Factor> parse_factor(const mil::Operation& operation);

// The value of a parameter that is one constant number.
std::optional<double> constant_number(const mil::Operation& operation, std::string_view parameter);

// Null for literals, and for values that no operation computes.
const mil::Var* var_of(const mil::Binding& binding);
const mil::Operation* direct_producer(const mil::Var* var);

// 0, 1, 2, ...
Axes first_axes(int64_t count);

}  // namespace pippin::engine
