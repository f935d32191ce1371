// The arguments of attention.h, and the kernels of kernels.inc as functions. Included by files that
// are compiled for one instruction set: no inline functions here.
#pragma once

#include <cstdint>

namespace pippin::kernels {

// Q8 and Q4 are quantized: a row of codes per key, and fp16 scales (cache_codes.h).
enum class CacheType { F32, F16, BF16, Q8, Q4 };

// Keys per entry of a mask's summary, whose scores are held at once.
constexpr int64_t kMaskChunk = 256;

// Strides are in elements. In both k and v, either the elements of a key are contiguous (dim_stride
// 1) or an element's keys are (key_stride 1). out must not overlap anything else.
struct AttentionArgs {
  const float* q;
  int64_t q_head_stride, q_row_stride, q_dim_stride;
  const void* k;
  int64_t k_head_stride, k_key_stride, k_dim_stride;
  const void* v;
  int64_t v_head_stride, v_key_stride, v_dim_stride;
  const float* mask;  // [heads, rows, keys] or null. Head stride 0: all heads share it.
  int64_t mask_head_stride, mask_row_stride, mask_key_stride;
  const float*
      summary;  // summarize_mask() of the mask, [heads, rows, chunks, 2]; null without a mask
  int64_t summary_head_stride, summary_row_stride;
  float* out;
  int64_t out_head_stride, out_row_stride, out_dim_stride;
  int64_t heads, kv_heads, rows, keys, head_dim, value_dim;
  const float* sinks;  // [heads] or null: an additional score in each row's softmax, with no value
  float scale;
  float softcap;  // scores become softcap * tanh(scores / softcap) before the mask; 0: unchanged
  // Of quantized caches, whose strides above count codes' bytes and have a dim_stride of 1: a scale
  // for each `group` values of a row.
  const uint16_t* k_scales;
  int64_t k_scale_head_stride, k_scale_key_stride, k_group;
  const uint16_t* v_scales;
  int64_t v_scale_head_stride, v_scale_key_stride, v_group;
  // Whether kernels may round: few queries to 8 bits to multiply them with codes, and their weights
  // to 16; all factors of many queries to bf16.
  bool may_round;
};

// A tile of queries, the rows [row, row + rows) of the heads [head, head + heads), which share a KV
// head, and the work to do. If `parts` is null: all of it, with results in args.out. Otherwise a
// chunk's result goes to parts + chunk * part_floats (Chunks), or those are combined and written to
// args.out (Combine).
struct AttentionTask {
  enum class Kind { Whole, Chunks, Combine };
  Kind kind;
  bool is_few;  // whether the tile reads the cache in place: at most kFewQueries
  int64_t head, heads, row, rows;
  int64_t chunk_begin, chunk_end;  // for Chunks
  float* parts;
};

#define PIPPIN_ATTENTION(flag, name, cache) \
  void name(const AttentionArgs& args, const AttentionTask& task, float* scratch) noexcept;
void name(const AttentionArgs& args, const AttentionTask& task, float* scratch) noexcept;
#include "pippin/kernels/attention/kernels.inc"
#undef PIPPIN_ATTENTION

}  // namespace pippin::kernels
