// Parts that the patterns of recurrences (nn/recurrent/recurrence.h) share.
#pragma once

#include <optional>
#include <string_view>

#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

// Calls body(x, y) for both orders of an operation's two values until it returns true.
template <typename Body>
bool either_order(const mil::Operation* operation, const Body& body) {
  if (operation == nullptr) return false;
  const mil::Var* x = operation->input_var("x");
  const mil::Var* y = operation->input_var("y");
  return x != nullptr && y != nullptr && (body(x, y) || body(y, x));
}

// The input of an operation of one input; null if another operation computes the value.
const mil::Var* argument_of(const mil::Var* var, std::string_view type);

struct Factors {
  const mil::Var *x, *y;
};
std::optional<Factors> operands(const mil::Var* var, std::string_view type);

// The operands of a matrix product with these transpositions.
std::optional<Factors> matrices(Builder& builder, const mil::Var* var, bool transpose_x,
                                bool transpose_y);

// Whether a parameter is that one number.
bool is_integer(const mil::Operation& operation, std::string_view parameter, int64_t value);

// Whether `var` is the positions 0, 1, ...
bool are_places(const mil::Var* var);
// The same along an axis of [rows, columns].
bool counts(Builder& builder, const mil::Var* var, size_t axis, const mil::Dim& count);

// Bools [tokens, tokens]: true if the column's token is not after the row's.
bool is_no_later(Builder& builder, const mil::Var* var, const mil::Dim& tokens);

// exp of the decay from the column's token to the row's, 0 if the column is later. `column`: sums
// of logarithms, [..., tokens, 1].
bool is_left(Builder& builder, const mil::Var* var, const mil::Var* column, const mil::Dim& tokens);

}  // namespace pippin::engine
