// out = softmax(softcap(scale · q · kᵀ) + mask) · v, fused, for prefill and decode alike, with
// grouped heads.
//
//   q   [heads, rows, head_dim]     fp32
//   k   [kv_heads, keys, head_dim]  fp32, fp16 or bf16, read in place, with their last two axes in
//   v   [kv_heads, keys, value_dim] either order; or codes with scales (cache_codes.h), row by row
//   out [heads, rows, value_dim]    fp32
//
// Query head h reads KV head h / (heads / kv_heads). Scores and sums are fp32.
//
// A head's sink, if there is one, is an additional score in the softmax of each of its rows: the
// weights then add up to less than one.
//
// The mask is added to the scores; -inf excludes a key. Excluded keys cost nothing: chunks of keys
// that no row at hand sees are skipped, and in the other chunks only the range from the first to
// the last visible key is read. A cache of fixed size does not pay for its empty slots, nor a
// sliding window for keys outside it. The values of keys with finite masks so low that their
// weights are exactly 0 are not read. Excluded keys between visible ones are read and must be
// finite (0 * inf is NaN). A row whose keys are all excluded gives NaN, like softmax over -inf
// alone; a NaN or +inf score makes its row NaN.
//
// Promise: out is bitwise the same for every number of threads, and for any number of excluded keys
// after the last visible one. Up to kFewRows rows each have the same bits as when computed alone.
#pragma once

#include "pippin/kernels/attention/args.h"
#include "pippin/kernels/kernel.h"

namespace pippin {
class ThreadPool;
}

namespace pippin::kernels {

using AttentionFunction = void (*)(const AttentionArgs& args, const AttentionTask& task,
                                   float* scratch) noexcept;

struct AttentionKernel {
  const char* name;
  CacheType cache;
  Needs needs;
  AttentionFunction function;
};

// Floats of scratch that attention() needs per thread, for any number of threads: computed from the
// largest sizes that args may have.
int64_t attention_scratch_floats(const AttentionArgs& args);

// The kernels in this build, best first.
std::span<const AttentionKernel> attention_kernels();

// Returns the first kernel for `cache` that `cpu` can run.
const AttentionKernel& choose_attention(CacheType cache, const CpuFeatures& cpu);

// Runs the kernel, split over the pool's threads by KV head, by rows and, if those are few, by
// length, to balance the load. `scratch` holds attention_scratch_floats() per thread.
void attention(ThreadPool& pool, const AttentionKernel& kernel, const AttentionArgs& args,
               float* scratch, int64_t scratch_floats);

// A summary of the mask that attention() uses to avoid reading it: the smallest and the largest
// entry of each row in each chunk of keys (for a chunk with a NaN, -inf and +inf). Many layers
// share a mask, so it is computed once.
struct MaskArgs {
  const float* mask;  // [heads, rows, keys]
  int64_t head_stride, row_stride, key_stride;
  int64_t heads, rows, keys;
  float* summary;  // [heads, rows, chunks, 2]
  int64_t summary_head_stride, summary_row_stride;
};
int64_t mask_chunks(int64_t keys);
void summarize_mask(ThreadPool& pool, const MaskArgs& args);

}  // namespace pippin::kernels
