// Walks back from an operation through those that computed its inputs.
//
// Floats of every width are fp32 while a plan runs, so a cast between them is not a step of a
// pattern, nor is `identity`. Formulas are matched as products: x * (y * 2) / z is {2, [x, y], [z]}
// in whatever order it was written.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

// The value that `var` is a cast of, or var.
const mil::Var* uncast(const mil::Var* var);
// The operation that computes a value, without casts; null for inputs and constants.
const mil::Operation* producer(const mil::Var* var);
// The same if it has that type, else null.
const mil::Operation* producer(const mil::Var* var, std::string_view type);
// The value before operations that keep the order of elements: reshape, expand_dims, squeeze.
const mil::Var* unreshaped(const mil::Var* var);

// Whether both have the same elements in the same shape, judged by their place in memory.
bool same_value(Builder& builder, const mil::Var* a, const mil::Var* b);

// An elementwise operation of two inputs of which one is a constant number: the other input.
struct WithNumber {
  const mil::Var* var = nullptr;
  double number = 0;
  bool number_first = false;  // number - x
};
std::optional<WithNumber> with_number(Builder& builder, const mil::Operation& operation);

// x if `var` is x * x, else null.
const mil::Var* squared(Builder& builder, const mil::Var* var);
// x if `var` is -x, else null.
const mil::Var* negated(Builder& builder, const mil::Var* var);

struct Product {
  double number = 1;
  std::vector<const mil::Var*> factors, divisors;
};
// The result of an operation as a product of the values that `is_factor` accepts and values that
// are not products; at most 8 of them, or nothing.
using IsFactor = std::function<bool(const mil::Var*)>;
std::optional<Product> as_product(Builder& builder, const mil::Operation& operation,
                                  const IsFactor& is_factor = {});

}  // namespace pippin::engine
