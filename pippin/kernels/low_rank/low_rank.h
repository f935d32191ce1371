// The second product of a low-rank change, y + B t: t has a few numbers for each row (an adapter's
// ranks), B a few for each column of y.
//
//   y[i, j] += sum over ranks r of t[i, r] * B[j, r]
//
// A dot product of so few elements is all ends, so B is kept in panels of columns, whose sums are
// computed together; they are read one after another. Sums are fp32 with fused multiply-add, in the
// order of the ranks; y is added last.
//
// Promise: a change of y[i, j] has the same bits for every m and every split of the columns, and
// whether ranks with t[i, r] = 0 are among those that are added.
#pragma once

#include <cstddef>
#include <vector>

#include "pippin/kernels/dot/args.h"
#include "pippin/kernels/kernel.h"
#include "pippin/kernels/low_rank/args.h"

namespace pippin::kernels {

// The tables in this build, best first.
std::span<const Listed<LowRankKernels>> low_rank_kernels();

// Returns the first table that `cpu` can run.
const LowRankKernels& choose_low_rank(const CpuFeatures& cpu);

void add_low_rank(const LowRankKernels& kernels, WeightType type, const LowRankArgs& args) noexcept;

// The panels of B [n, ranks], whose rows are contiguous, in its type.
std::vector<std::byte> pack_low_rank(const std::byte* b, WeightType type, int64_t n, int64_t ranks);

}  // namespace pippin::kernels
