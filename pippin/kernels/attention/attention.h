// out = softmax(scale · q · kᵀ + mask) · v, fused, for prefill and decode alike, with grouped
// heads.
//
//   q   [heads, rows, head_dim]     fp32
//   k   [kv_heads, keys, head_dim]  fp32 or fp16, a cache as it lies
//   v   [kv_heads, keys, value_dim] of the same type
//   out [heads, rows, value_dim]    fp32
//
// Query head h reads KV head h / (heads / kv_heads). Scores and sums are fp32.
//
// The mask is added to the scores; -inf excludes a key. Keys before the first and after the last that
// any row at hand sees are not read: a cache of fixed size does not cost its empty slots, whatever
// they hold. Excluded keys in between are read, and must be finite (0 * inf is NaN).
// A row whose keys are all excluded gives NaN, as softmax over -inf alone does; a NaN or +inf score
// makes its row NaN.
//
// Promise: out[h, r] has the same bits however heads and rows are split over calls and threads, and
// however many excluded keys follow the last one that counts.
#pragma once

#include "pippin/kernels/attention/args.h"
#include "pippin/kernels/kernel.h"

namespace pippin {
class ThreadPool;
}

namespace pippin::kernels {

using AttentionFunction = void (*)(const AttentionArgs& args, const AttentionShare& share,
                                   float* scratch) noexcept;

struct AttentionKernel {
  const char* name;
  CacheType cache;
  Needs needs;
  AttentionFunction function;
};

// Floats of scratch that one thread needs: depends on head_dim and value_dim only.
int64_t attention_scratch_floats(const AttentionArgs& args);

// Every kernel that this build has, best first.
std::span<const AttentionKernel> attention_kernels();

// The first kernel for `cache` that `cpu` can run.
const AttentionKernel& choose_attention(CacheType cache, const CpuFeatures& cpu);

// Runs the kernel split over the pool's threads by KV head, and by rows where there are many.
// `scratch` holds attention_scratch_floats(args) for each thread.
void attention(ThreadPool& pool, const AttentionKernel& kernel, const AttentionArgs& args,
               float* scratch);

}  // namespace pippin::kernels
