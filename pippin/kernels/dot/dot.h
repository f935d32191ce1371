// y = x · Wᵀ + bias with fp32 activations and plain weights: every linear layer and logits matrix
// of an fp32, fp16 or bf16 model.
//
//   y[m, n] (fp32) = x[m, k] (fp32) · W[n, k]ᵀ (fp32 | fp16 | bf16) + bias[n] (fp32 or null)
//
// W is read in place, usually from a mapped file: row-major, no packing, aligned to its elements.
// Sums are fp32 with fused multiply-add.
//
// Promise: y[i, j] has the same bits for every m, every split of n over threads and every stride;
// the order of its sum depends on k and the kernel only. (So prefill and decode agree, and a batch
// of sequences decodes as each would alone.) Kernels differ in rounding.
//
// If a few rows need not agree with many, dot_many_rows() takes half the time: it repacks W on the
// way. It makes the same promise within itself: another order of sums, the same for every m >= 1.
#pragma once

#include <algorithm>

#include "pippin/base/threads/thread_pool.h"
#include "pippin/kernels/dot/args.h"
#include "pippin/kernels/kernel.h"

namespace pippin::kernels {

constexpr int64_t bytes_per_weight(WeightType type) {
  return type == WeightType::F32 ? 4 : 2;
}

using DotFunction = void (*)(const DotArgs&) noexcept;
using ManyRowsFunction = void (*)(const ManyRowsArgs&) noexcept;

struct DotKernel {
  const char* name;  // "dot_f16_avx512"
  WeightType weight;
  Needs needs;
  DotFunction function;
  ManyRowsFunction many_rows;
  int64_t n_grain;  // split n over threads in multiples of this
};

// The kernels in this build, best first.
std::span<const DotKernel> dot_kernels();

// Returns the first kernel for `weight` that `cpu` can run.
const DotKernel& choose_dot(WeightType weight, const CpuFeatures& cpu);

// Restricts the product to the columns [n_begin, n_end) of y.
DotArgs dot_columns(const DotArgs& args, WeightType weight, int64_t n_begin, int64_t n_end);

// The number of rows from which dot_many_rows() is faster.
constexpr int64_t kManyRows = 8;
// The amount of W that it packs at once, in floats, unless k is so long that the columns of one
// grain need more: small enough for caches.
constexpr int64_t kMostPacked = 128 * 1024;
// The corresponding number of columns, a multiple of the grain, and of floats.
int64_t packed_columns(const DotKernel& kernel, int64_t n, int64_t k);
int64_t packed_floats(const DotKernel& kernel, int64_t n, int64_t k);

// All of W may be packed once, for later products. Returns whether the kernel supports that: the
// reference reads W in place.
bool packs(const DotKernel& kernel);
int64_t all_packed_floats(const DotKernel& kernel, int64_t n, int64_t k);
// Reads w, w_stride, n and k of the arguments.
void pack(const DotKernel& kernel, const DotArgs& args, float* packed);

// Computes the product in pieces: some columns and as many rows of x as the second-level cache
// holds. Calls done(rows, columns) after each piece, while it is still in the cache. `packed` has
// room for packed_floats() of n or more; if `is_packed`, it is the result of pack() for these
// columns. Uses one thread.
template <typename Done>
void dot_many_rows(const DotKernel& kernel, const DotArgs& args, float* packed, const Done& done,
                   bool is_packed = false) {
  constexpr int64_t kRowsOfPiece = 96;
  const int64_t most = packed_columns(kernel, args.n, args.k);
  for (int64_t n = 0; n < args.n; n += most) {
    const Range columns = {n, std::min(args.n, n + most)};
    const DotArgs all = dot_columns(args, kernel.weight, columns.begin, columns.end);
    ManyRowsArgs piece = {all, is_packed ? packed + n * args.k : packed, is_packed};
    for (int64_t m = 0; m < args.m; m += kRowsOfPiece) {
      const Range rows = {m, std::min(args.m, m + kRowsOfPiece)};
      piece.dot.x = all.x + m * args.x_stride;
      piece.dot.y = all.y + m * args.y_stride;
      piece.dot.m = rows.end - rows.begin;
      kernel.many_rows(piece);
      done(rows, columns);
      piece.is_packed = true;
    }
  }
}

// Runs the kernel with n split over the pool's threads.
void dot(ThreadPool& pool, const DotKernel& kernel, const DotArgs& args);

}  // namespace pippin::kernels
