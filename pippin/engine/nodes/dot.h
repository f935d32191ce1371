// Products of activations with weights.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "pippin/engine/nodes/view.h"
#include "pippin/kernels/rows/args.h"

namespace pippin::engine {

struct E4M7Weight;
struct QuantizedWeight;

// W [n, k] as a view: fp32, fp16 or bf16 as it is stored, or the fp32 panels that kernels need for
// weights of the type `storage`.
struct DenseWeight {
  Storage storage = Storage::F32;
  bool is_panels = false;

  bool operator==(const DenseWeight&) const = default;
};
using Weight = std::variant<DenseWeight, std::shared_ptr<const QuantizedWeight>,
                            std::shared_ptr<const E4M7Weight>>;

// A change of low rank, (s * (x · Aᵀ)) · Bᵀ, for a few ranks (LoRA). Views: A [ranks, k], s [m,
// ranks] and B in the panels of kernels/low_rank.
struct LowRank {
  int64_t ranks = 0;
  Storage a = Storage::F32, b = Storage::F32;
};

// y = x · Wᵀ + bias + change + residual, with constant weights. One node may compute several
// products that share x (queries, keys and values; gate and up).
//
// Rows come first: y [m, n], x [m, k] and the residual [m, n] have any row strides and unit column
// strides; a bias is [n]. Views: the y of all products, x; for each product, W if it is dense, the
// bias if it has one, those of its change if it has one; the residual.
struct DotNode {
  struct Product {
    int64_t n = 0;
    Weight weight;
    bool has_bias = false;
    std::optional<LowRank> change = std::nullopt;

    bool is_dense() const { return std::holds_alternative<DenseWeight>(weight); }
  };
  std::string name;  // "linear int4"
  std::vector<Product> products;
  bool has_residual = false;  // of a single product
};

// y[b, m, n] = x[b, m, k] · w[b, n, k]ᵀ + bias[n], where w is computed or has batches; views: y, x,
// w, the bias if any.
struct BatchedDotNode {
  std::string name;
};

// Consecutive matrices [count, n, k]: in place, in fp32, fp16 or bf16; or in one compressed weight.
struct DenseStack {
  Storage storage = Storage::F32;
  std::vector<const std::byte*> matrices;
};
struct WeightStack {
  int64_t count = 0, n = 0, k = 0;
  std::variant<DenseStack, std::shared_ptr<const QuantizedWeight>,
               std::shared_ptr<const E4M7Weight>>
      weight;
};

// y[b] = x[b] · W[b]ᵀ; views: y [matrices, m, n], x [matrices, m, k] with rows of unit stride.
struct StackedDotNode {
  std::string name;
  WeightStack weight;
};

// The experts of a mixture: for each row, the sum over experts of its weight times the expert's
// result, down(activation(gate(x)) * up(x)). views: out [rows, features], x [rows, features],
// weights [rows, candidates], then, if present: indices int32 [candidates], the expert of each
// candidate; biases [experts, n].
struct ExpertsNode {
  WeightStack gate, up, down;
  int64_t experts = 0;  // number of all experts
  int64_t chosen = 0;   // for each row, if known; else 0
  kernels::GateOp activation = kernels::GateOp::Silu;
  std::optional<float> limit;        // gate is at most that, up between -limit and limit
  float up_shift = 0;                // added to up
  bool weights_scale_input = false;  // the weight multiplies the result of gate and up for x
  bool has_indices = false;          // candidates are not all experts
  bool gate_bias = false, up_bias = false, down_bias = false;
};

}  // namespace pippin::engine
