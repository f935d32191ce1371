// The arguments of attention.h, and the kernels of kernels.inc as functions. Included by files that
// are compiled for one instruction set: no inline functions here.
#pragma once

#include <cstdint>

namespace pippin::kernels {

enum class CacheType { F32, F16 };

// Strides are in elements; elements of a row are contiguous. out overlaps nothing else.
struct AttentionArgs {
  const float* q;
  int64_t q_head_stride, q_row_stride;
  const void* k;
  int64_t k_head_stride, k_row_stride;
  const void* v;
  int64_t v_head_stride, v_row_stride;
  const float* mask;  // [heads, rows, keys] or null: none. Head stride 0: the same for all heads.
  int64_t mask_head_stride, mask_row_stride;
  float* out;
  int64_t out_head_stride, out_row_stride;
  int64_t heads, kv_heads, rows, keys, head_dim, value_dim;
  float scale;
};

// One thread's share: the query heads [head_begin, head_end) at the rows [row_begin, row_end).
struct AttentionShare {
  int64_t head_begin, head_end, row_begin, row_end;
};

#define PIPPIN_ATTENTION(flag, name, cache) \
  void name(const AttentionArgs& args, const AttentionShare& share, float* scratch) noexcept;
#define PIPPIN_ATTENTION_SCALAR(name, cache) \
  void name(const AttentionArgs& args, const AttentionShare& share, float* scratch) noexcept;
#include "pippin/kernels/attention/kernels.inc"
#undef PIPPIN_ATTENTION
#undef PIPPIN_ATTENTION_SCALAR

}  // namespace pippin::kernels
