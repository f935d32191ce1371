// Products that a sum can become a part of.
#pragma once

#include <optional>

#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

// The product that `var` shows, of the sum's shape, if only the sum reads it and it has no
// residual: the result of a product, or of one with its change of low rank.
std::optional<Node> own_product(Builder& builder, const mil::Var* var, const mil::ValueInfo& sum);

// Defines the sum's result as the node's, which replaces the product that `var` shows.
void define_sum(Builder& builder, const mil::Operation& sum, const mil::Var* var, Node node);

}  // namespace pippin::engine
