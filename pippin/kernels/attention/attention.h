// out = softmax(softcap(scale · q · kᵀ) + mask) · v, fused, for prefill and decode alike, with
// grouped heads.
//
//   q   [heads, rows, head_dim]     fp32
//   k   [kv_heads, keys, head_dim]  fp32, fp16 or bf16, as it lies, in either order of its
//   v   [kv_heads, keys, value_dim] last two axes
//   out [heads, rows, value_dim]    fp32
//
// Query head h reads KV head h / (heads / kv_heads). Scores and sums are fp32.
//
// A head's sink, where there are any, is one more score in the softmax of each of its rows: their
// weights then add up to less than one.
//
// The mask is added to the scores; -inf excludes a key. What is excluded costs nothing: chunks of
// keys that no row at hand sees are skipped, and of the others what lies before the first and after
// the last key that one sees; it is not read, whatever it holds. A cache of fixed size does not
// cost its empty slots, a sliding window not what is out of sight. Keys whose masks are finite but
// so low that their weights are exactly 0 do not cost the reading of their values. Excluded keys
// between others are read, and must be finite (0 * inf is NaN). A row whose keys are all excluded
// gives NaN, as softmax over -inf alone does; a NaN or +inf score makes its row NaN.
//
// Promise: out has the same bits for every number of threads, and however many excluded keys follow
// the last one that counts. Up to kFewRows rows each have the bits that they have by themselves.
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

// Floats of scratch that attention() needs for each thread, whatever their number: from the largest
// sizes that args may have.
int64_t attention_scratch_floats(const AttentionArgs& args);

// Every kernel that this build has, best first.
std::span<const AttentionKernel> attention_kernels();

// The first kernel for `cache` that `cpu` can run.
const AttentionKernel& choose_attention(CacheType cache, const CpuFeatures& cpu);

// Runs the kernel split over the pool's threads by KV head, by rows, and where those are few by
// length, so that each has as much to do. `scratch` holds attention_scratch_floats() for each
// thread.
void attention(ThreadPool& pool, const AttentionKernel& kernel, const AttentionArgs& args,
               float* scratch, int64_t scratch_floats);

// What attention() wants to know of a mask before it reads it: the smallest and the largest entry
// of each row in each chunk of keys (of a chunk with a NaN -inf and +inf). Masks are the same for
// many layers, so this is made once.
struct MaskArgs {
  const float* mask;  // [heads, rows, keys]
  int64_t head_stride, row_stride, key_stride;
  int64_t heads, rows, keys;
  float* summary;  // [heads, rows, chunks, 2]
  int64_t summary_head_stride, summary_row_stride;
};
int64_t mask_chunk_keys();
int64_t mask_chunks(int64_t keys);
void summarize_mask(ThreadPool& pool, const MaskArgs& args);

}  // namespace pippin::kernels
