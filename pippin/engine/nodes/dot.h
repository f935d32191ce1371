// Products of activations with weights that stay: y = x · Wᵀ + bias + residual.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "pippin/engine/nodes/view.h"

namespace pippin::engine {

struct E4M7Weight;
struct QuantizedWeight;

// W [n, k] as a view: fp32, fp16 or bf16 as it is stored, or in fp32 the panels that kernels want
// of weights of the type `storage`.
struct DenseWeight {
  Storage storage = Storage::F32;
  bool is_panels = false;

  bool operator==(const DenseWeight&) const = default;
};
using Weight = std::variant<DenseWeight, std::shared_ptr<const QuantizedWeight>,
                            std::shared_ptr<const E4M7Weight>>;

// One node may compute several products that share x (queries, keys and values; gate and up).
//
// Rows come first: y [m, n], x [m, k] and the residual [m, n] have free row strides and unit column
// strides; a bias is [n]. Views: the y of all products, x; of each product W where it is dense and
// the bias where it has one; the residual.
struct DotNode {
  struct Product {
    int64_t n = 0;
    Weight weight;
    bool has_bias = false;

    bool is_dense() const { return std::holds_alternative<DenseWeight>(weight); }
  };
  std::string name;  // "linear int4"
  std::vector<Product> products;
  bool has_residual = false;  // of a single product
};

// y[b, m, n] = x[b, m, k] · w[b, n, k]ᵀ + bias[n], where w is computed or has batches; views: y, x,
// w, the bias if there is one.
struct BatchedDotNode {
  std::string name;
};

}  // namespace pippin::engine
