// Products of two operands (linear, matmul, einsum, convolutions) by what their axes are for, so
// that who looks for weights or for products of matrices need not know the ops.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "pippin/mil/program.h"

namespace pippin::mil {

struct Product {
  using Axes = std::vector<int64_t>;
  // The roles of an operand's axes; each of its axes has one. Those of one role are in the order
  // of the operand, but for the batch.
  struct Operand {
    const Binding* binding = nullptr;
    Axes batch;   // that both operands and the result have, in one order for all three
    Axes own;     // that the result has from this operand: rows of x, output channels of a weight
    Axes summed;  // that both operands have and the result has not: input channels
    Axes others;  // places under a convolution's kernel; what an einsum sums of one operand alone

    const Var* var() const;  // null for literals
    int64_t rank() const;
  };
  std::array<Operand, 2> operands;  // x and the weight
  // Either operand may be the weight: neither is named as one.
  bool of_peers = false;
  // The axes of the result that the operands' batch and own axes become.
  Axes batch;
  std::array<Axes, 2> own;

  // A product x·wᵀ of matrices for each index of the batch axes: one own and one summed axis each.
  bool is_of_matrices() const;
};

// An operation as a product, from the declared types: nothing for other ops, and for what the
// verifier refuses.
std::optional<Product> product_of(const Operation& operation);

// What table entries name as their rule.
std::optional<Product> linear_product(const Operation& operation);
std::optional<Product> matmul_product(const Operation& operation);
std::optional<Product> einsum_product(const Operation& operation);
std::optional<Product> conv_product(const Operation& operation);
std::optional<Product> conv_transpose_product(const Operation& operation);

}  // namespace pippin::mil
