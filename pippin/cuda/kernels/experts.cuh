// The experts of a mixture, but for their products (DotArgs::pairs).
#pragma once

#include "pippin/cuda/kernels/blocks.cuh"
#include "pippin/cuda/kernels/experts_args.h"
#include "pippin/cuda/kernels/functions.cuh"

namespace pippin::cuda {

// One block.
DEVICE void expert_pairs_body(const ExpertPairsArgs& a) {
  SHARED(shared);
  int num_pairs = 0;
  const int all = a.rows * a.candidates;
  for (int begin = 0; begin < all; begin += block_threads()) {
    const int i = begin + thread_index(), candidate = i / a.rows, row = i % a.rows;
    const float weight =
        i < all ? a.weights[row * a.row_stride + candidate * a.candidate_stride] : 0.0f;
    const Counted counted = count_before(weight != 0, reinterpret_cast<int*>(shared));
    const int place = num_pairs + counted.before;
    num_pairs += counted.all;
    if (i >= all) continue;
    const bool is_pair = weight != 0 && place < a.most_pairs;
    a.places[row * a.candidates + candidate] = is_pair ? place : -1;
    if (!is_pair) continue;
    int expert = a.indices != nullptr ? a.indices[candidate] : candidate;
    if (expert < 0) expert += a.experts;
    a.pairs[place] = {row, max(0, min(expert, a.experts - 1)), weight};
  }
  if (thread_index() > 0) return;
  *a.num_pairs = min(num_pairs, a.most_pairs);
  if (num_pairs > a.most_pairs) *a.failed = 1;
}

// A block for each pair.
DEVICE void expert_gate_body(const ExpertGateArgs& a) {
  const int64_t pair = blockIdx.x;
  if (pair >= *a.num_pairs) return;
  const ExpertPair p = a.pairs[pair];
  float* const gates = a.gate + pair * a.n;
  const float* const ups = a.up + pair * a.n;
  for (int64_t i = thread_index(); i < a.n; i += block_threads()) {
    float gate = gates[i], up = ups[i];
    // The weight is applied between product and bias.
    if (a.weights_scale_input) gate *= p.weight, up *= p.weight;
    if (a.gate_bias != nullptr) gate += a.gate_bias[p.expert * a.n + i];
    if (a.up_bias != nullptr) up += a.up_bias[p.expert * a.n + i];
    if (a.has_limit) {  // keeps NaN
      if (gate > a.limit) gate = a.limit;
      if (up > a.limit) up = a.limit;
      if (up < -a.limit) up = -a.limit;
    }
    up += a.up_shift;
    gates[i] = gate_value(a.activation, gate) * up;
  }
}

// Blocks: columns of a row; z: rows.
DEVICE void expert_sum_body(const ExpertSumArgs& a) {
  const int64_t row = blockIdx.z;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * block_threads() + thread_index();
  if (column >= a.n) return;
  float sum = 0;
  for (int i = 0; i < a.candidates; ++i) {
    const int place = a.places[row * a.candidates + i];
    if (place < 0) continue;
    const ExpertPair p = a.pairs[place];
    float result = a.results[static_cast<int64_t>(place) * a.n + column];
    if (a.bias != nullptr) result += a.bias[p.expert * a.n + column];
    sum += a.weights_scale_input ? result : result * p.weight;
  }
  a.out[row * a.out_stride + column] = sum;
}

}  // namespace pippin::cuda
