// Products of two operands (linear, matmul, einsum, convolutions), described by the roles of their
// axes, so that code that looks for weights or matrix products need not know the ops.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "pippin/mil/program.h"

namespace pippin::mil {

struct Product {
  using Axes = std::vector<int64_t>;
  // The roles of an operand's axes; each axis has exactly one. Axes of one role are in the
  // operand's order, except batch axes.
  struct Operand {
    const Binding* binding = nullptr;
    Axes batch;   // shared by both operands and the result, in one order for all three
    Axes own;     // shared by this operand and the result: rows of x, output channels of a weight
    Axes summed;  // shared by both operands, absent from the result: input channels
    Axes others;  // a convolution's kernel positions; axes that an einsum sums in one operand alone

    const Var* var() const;  // null for literals
    int64_t rank() const;
  };
  std::array<Operand, 2> operands;  // x and the weight
  // Either operand may be the weight; the op does not name one.
  bool of_peers = false;
  // The axes of the result that come from the operands' batch and own axes.
  Axes batch;
  std::array<Axes, 2> own;

  // Whether this is a product x·wᵀ of matrices for each index of the batch axes: one own and one
  // summed axis each.
  bool is_of_matrices() const;
};

// The operation as a product, from the declared types; nullopt for other ops and for operations
// that the verifier rejects.
std::optional<Product> product_of(const Operation& operation);

// The rules that table entries refer to.
std::optional<Product> linear_product(const Operation& operation);
std::optional<Product> matmul_product(const Operation& operation);
std::optional<Product> einsum_product(const Operation& operation);
std::optional<Product> conv_product(const Operation& operation);
std::optional<Product> conv_transpose_product(const Operation& operation);

}  // namespace pippin::mil
