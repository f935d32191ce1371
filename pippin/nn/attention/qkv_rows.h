// Which rows of a checkpoint's matrices the projections of attention are (QkvLayout).
#pragma once

#include <cstdint>

#include "pippin/nn/attention/attention.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

// Whether the rows of a part are reordered, so that halves of a head turn in place of pairs.
bool reorders_rows(const AttentionOptions& options, QkvPart part);
WeightLayout qkv_layout(const AttentionOptions& options, QkvPart part);
// Heads of all parts that one matrix has, those of a gate with them.
int64_t qkv_heads(const AttentionOptions& options);
// The gate that lies in the matrix of queries, or in that of all.
Linear output_gate(const Parameters& parameters, const AttentionOptions& options);

}  // namespace pippin::nn
