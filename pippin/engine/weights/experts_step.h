// The experts of a mixture as one step: for each row the sum over experts of its weight times what
// the expert makes of it, down(activation(gate(x)) * up(x)).
//
// Terms whose weight is 0 are left out before anything of them is read. The others are sorted by
// expert, so that each of the matrices that count is read once for all of its rows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "pippin/engine/compute_options.h"
#include "pippin/engine/run/step.h"
#include "pippin/engine/weights/expert_matrices.h"
#include "pippin/kernels/rows/args.h"

namespace pippin::engine {

struct ExpertsSpec {
  std::shared_ptr<const ExpertMatrices> gate, up, down;
  int64_t experts = 0;  // that there are
  int64_t chosen = 0;   // for each row, where that is known; 0: it is not
  kernels::GateOp activation = kernels::GateOp::Silu;
  std::optional<float> limit;        // gate is at most that, up between -limit and limit
  float up_shift = 0;                // added to up
  bool weights_scale_input = false;  // the weight multiplies what gate and up make of x
  // Views beside out, x and weights, in this order.
  bool indices = false;  // candidates are not all experts
  bool gate_bias = false, up_bias = false, down_bias = false;
};

// views: out [rows, features], x [rows, features], weights [rows, candidates], then what the spec
// says: indices int32 [candidates], which expert each is; biases [experts, n].
std::unique_ptr<Step> make_experts_step(ExpertsSpec spec, const CpuFeatures& cpu);

}  // namespace pippin::engine
