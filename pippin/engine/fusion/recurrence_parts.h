// What the patterns of recurrences (nn/recurrent/recurrence.h) have in common.
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

// The input of an operation of one input, null where the value is made by another.
const mil::Var* argument_of(const mil::Var* var, std::string_view type);

struct Factors {
  const mil::Var *x, *y;
};
std::optional<Factors> operands(const mil::Var* var, std::string_view type);

// The operands of a product of matrices that are transposed so.
std::optional<Factors> matrices(Builder& builder, const mil::Var* var, bool transpose_x,
                                bool transpose_y);

// Whether a parameter is that one number.
bool is_integer(const mil::Operation& operation, std::string_view parameter, int64_t value);

// The places 0, 1, ...
bool are_places(const mil::Var* var);
// The same along an axis of [rows, columns].
bool counts(Builder& builder, const mil::Var* var, size_t axis, const mil::Dim& count);

// Bools [tokens, tokens]: the column comes no later than the row.
bool is_no_later(Builder& builder, const mil::Var* var, const mil::Dim& tokens);

// exp of how much the column's token has decayed at the row's, 0 where it comes later. `column`:
// sums of logarithms, [..., tokens, 1].
bool is_left(Builder& builder, const mil::Var* var, const mil::Var* column, const mil::Dim& tokens);

}  // namespace pippin::engine
