// The arguments of attention's kernels.
#pragma once

#include <cstdint>

namespace pippin::cuda {

enum class CacheType : int32_t { F32, F16, BF16 };

// [batch, heads, rows, columns] of any strides, in elements.
template <typename T>
struct AttentionView {
  T* data;
  int64_t batch_stride, head_stride, row_stride, column_stride;
};

struct AttentionArgs {
  AttentionView<float> out;  // columns: value_dim
  AttentionView<const float> q;
  AttentionView<const void> k, v;   // rows: keys
  AttentionView<const float> mask;  // columns: keys; null: none
  const float* sinks;               // [heads] or null
  float* parts;                     // of attention_few: [queries, chunks, value_dim + 2]
  int32_t batch, heads, kv_heads, rows, keys, head_dim, value_dim;
  float scale, softcap, inverse_softcap;  // 0: none
  CacheType cache;
};

}  // namespace pippin::cuda
