// The arguments of experts.cuh.
#pragma once

#include <cstdint>

#include "pippin/cuda/kernels/dot_args.h"
#include "pippin/kernels/rows/args.h"

namespace pippin::cuda {

// Lists the pairs of a row and an expert whose weight is not 0, by candidate, then by row.
struct ExpertPairsArgs {
  const float* weights;    // [rows, candidates]
  const int32_t* indices;  // the candidates' experts, or null: all, in order
  ExpertPair* pairs;
  int32_t* num_pairs;
  int32_t* places;   // [rows, candidates]: the index of a pair, or -1
  uint32_t* failed;  // set if there are more than most_pairs
  int64_t row_stride, candidate_stride;
  int32_t rows, candidates, experts, most_pairs;
};

// gate[pair] = activation(gate[pair]) * up[pair], rows of n.
struct ExpertGateArgs {
  const ExpertPair* pairs;
  const int32_t* num_pairs;
  float* gate;
  const float* up;
  const float* gate_bias;  // [experts, n], or null
  const float* up_bias;
  int64_t n;
  float limit, up_shift;
  bool has_limit, weights_scale_input;
  kernels::GateOp activation;
};

// out[row] = the sum of weight * (results[pair] + bias[expert]), in the order of the candidates.
struct ExpertSumArgs {
  const ExpertPair* pairs;
  const int32_t* places;
  const float* results;  // [pairs, n]
  const float* bias;     // [experts, n], or null
  float* out;
  int64_t out_stride, n;
  int32_t candidates;
  bool weights_scale_input;
};

}  // namespace pippin::cuda
