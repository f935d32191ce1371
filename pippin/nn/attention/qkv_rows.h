// Rows of a checkpoint's matrices that hold the projections of attention (QkvLayout).
#pragma once

#include <cstdint>

#include "pippin/nn/attention/attention.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

// The first rows of each head that are reordered in a part, so that halves of a head are rotated
// instead of pairs; 0: none.
int64_t reordered_dims(const AttentionOptions& options, QkvPart part);
WeightLayout qkv_layout(const AttentionOptions& options, QkvPart part);
// The heads of all parts in one matrix, including a gate's.
int64_t qkv_heads(const AttentionOptions& options);
// The gate in the matrix of queries, or in the joined matrix.
Linear output_gate(const Parameters& parameters, const AttentionOptions& options);

}  // namespace pippin::nn
