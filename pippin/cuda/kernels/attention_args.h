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
  int32_t batch, heads, kv_heads, rows, keys, head_dim, value_dim;
  float scale, softcap, inverse_softcap;  // 0: none
  CacheType cache;
};

// Keys of a block of attention_few.
constexpr int32_t kFewChunk = 128;

// Attention in parts: a block for each chunk of keys. A part has value_dim sums of values, and
// after those of all parts its largest score and its sum of exponentials.
struct FewAttentionArgs {
  AttentionArgs attention;
  float* parts;       // [batch, heads, rows, chunks, value_dim], then [.., chunks, 2]; null: one
                      // chunk, whose block writes the results
  int32_t chunks;     // of kFewChunk keys
  int32_t key_lanes;  // that share a key: a power of two from 8 to 32
  int32_t tiles;      // of the queries that share a head of keys
};

// Rows and keys of a tile of attention_tiles.
constexpr int32_t kTile = 64;

// Attention of many rows: a block for each tile of rows of a head, which takes the keys by tiles.
struct TileAttentionArgs {
  AttentionArgs attention;
  // Of each tile of rows and of keys of a mask, four words: bits of the keys that a row sees, and
  // of the keys that all rows see with a mask of 0. Null: no mask.
  uint32_t* sight;
  int32_t sight_batches, sight_heads;  // 1 if the mask repeats
  int32_t row_tiles, key_tiles;
  int32_t slices;  // of the values' columns
  int32_t stages;  // tiles of keys in shared memory: 1 or 2
};

}  // namespace pippin::cuda
