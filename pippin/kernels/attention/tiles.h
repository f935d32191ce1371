// attention.h over the vectors of vec/: an ISA file includes one vec header, vec/math.h and
// vec/multiply.h, then this.
//
// A tile is up to kTileQueries (row, head) pairs of one KV head. It walks the keys in blocks with
// an online softmax (Milakov and Gimelshein, 2018):
//
//   scores = scale * q · kᵀ + mask            [queries, kKeyBlock]
//   m'     = max(m, max(scores))              the largest score so far
//   p      = exp(scores - m')
//   sum    = sum * exp(m - m') + Σ p
//   acc    = acc * exp(m - m') + p · v        [queries, value_dim]
//
// and ends with out = acc / sum. A row's result is the same bits in every tile: blocks start at
// multiples of kKeyBlock, lanes at multiples of kLanes, and an excluded key adds exactly 0.
#pragma once

#include "pippin/kernels/attention/args.h"
#include "pippin/kernels/attention/sizes.h"

namespace pippin::kernels {
namespace {

struct Tile {
  int64_t queries;
  const float* q;  // [queries, head_dim], gathered
  const float* mask[kTileQueries];
  float* out[kTileQueries];
  int64_t mask_rows;  // different masks among them, which come first in unique_mask
  const float* unique_mask[kTileQueries];
  float* scores;  // [queries, kKeyBlock]
  float* acc;     // [queries, value_dim]
  float max[kTileQueries];
  float sum[kTileQueries];
  float correction[kTileQueries + kScratchPadding];
};

struct KeyRange {
  int64_t begin, end;
};

PIPPIN_VEC bool counts(const Tile& tile, int64_t key) {
  for (int64_t i = 0; i < tile.mask_rows; ++i) {
    if (tile.unique_mask[i][key] != -__builtin_inff()) return true;
  }
  return false;
}

// From the first to the last key in the range that any query of the tile may see.
KeyRange visible(const Tile& tile, KeyRange keys) {
  if (tile.mask_rows == 0) return keys;
  const F excluded = set(-__builtin_inff());
  const auto any_visible = [&](int64_t key) {
    for (int64_t i = 0; i < tile.mask_rows; ++i) {
      if (any(~(load(tile.unique_mask[i] + key) == excluded))) return true;
    }
    return false;
  };
  while (keys.begin + kLanes <= keys.end && !any_visible(keys.begin)) keys.begin += kLanes;
  while (keys.begin < keys.end && !counts(tile, keys.begin)) ++keys.begin;
  while (keys.begin + kLanes <= keys.end && !any_visible(keys.end - kLanes)) keys.end -= kLanes;
  while (keys.begin < keys.end && !counts(tile, keys.end - 1)) --keys.end;
  return keys;
}

// Scores of kRows queries from `query` on with the keys of `keys`, at scores[key - block].
template <typename Stored, int kRows>
void score_rows(const AttentionArgs& a, const Tile& tile, int64_t query,
                const typename Stored::Element* k, KeyRange keys, int64_t block) {
  const float* q = tile.q + query * a.head_dim;
  float* scores = tile.scores + query * kKeyBlock;
  const F4 scale = set4(a.scale);
  for (int64_t key = keys.begin; key < keys.end; key += 4) {
    const typename Stored::Element* rows[4];
    const int64_t last = keys.end - 1;
    for (int64_t i = 0; i < 4; ++i) {
      rows[i] = k + (key + i < last ? key + i : last) * a.k_row_stride;
    }
    F4 sums[kRows][1];
    multiply<Stored>(q, a.head_dim, rows, a.head_dim, {}, sums);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      float* to = scores + r * kKeyBlock + (key - block);
      if (key + 4 <= keys.end) {
        store4(to, sums[r][0] * scale);
      } else {
        float copy[4];
        store4(copy, sums[r][0] * scale);
        for (int64_t i = 0; key + i < keys.end; ++i) to[i] = copy[i];
      }
    }
  }
}

// scores become exp(score + mask - max); max, sum and correction move on.
void softmax_block(const AttentionArgs& a, Tile& tile, KeyRange keys, int64_t block) {
  const float low = -__builtin_inff();
  const int64_t begin = (keys.begin - block) / kLanes * kLanes;
  const int64_t end = (keys.end - block + kLanes - 1) / kLanes * kLanes;
  float shift[kTileQueries];
  for (int64_t query = 0; query < tile.queries; ++query) {
    float* scores = tile.scores + query * kKeyBlock;
    for (int64_t i = begin; i < keys.begin - block; ++i) scores[i] = low;
    for (int64_t i = keys.end - block; i < end; ++i) scores[i] = low;
    F largest = set(low);
    const float* mask = tile.mask[query];
    for (int64_t i = begin; i < end; i += kLanes) {
      F score = load(scores + i);
      if (mask != nullptr) {
        const int64_t left = a.keys - block - i;
        const float* from = mask + block + i;
        score = score + (left >= kLanes ? load(from) : load_part(from, left));
        store(scores + i, score);
      }
      largest = max(score, largest);  // passes over NaN, which the sum will show
    }
    const float block_max = max_lane(largest);
    const float old_max = tile.max[query];
    const float new_max = block_max > old_max ? block_max : old_max;
    // While nothing counts yet every exponential is to be 0, not exp(-inf + inf).
    shift[query] = new_max == low ? 0 : new_max;
    tile.max[query] = new_max;
    tile.correction[query] = old_max - shift[query];
  }
  for (int64_t query = 0; query < tile.queries; query += kLanes) {
    store(tile.correction + query, exp(load(tile.correction + query)));
  }
  for (int64_t query = 0; query < tile.queries; ++query) {
    float* scores = tile.scores + query * kKeyBlock;
    const F offset = set(shift[query]);
    F total = set(0);
    for (int64_t i = begin; i < end; i += kLanes) {
      const F p = exp(load(scores + i) - offset);
      store(scores + i, p);
      total = total + p;
    }
    const float correction = tile.correction[query];
    tile.sum[query] = tile.sum[query] * correction + sum(total);
    if (correction == 1) continue;
    float* acc = tile.acc + query * a.value_dim;
    const F factor = set(correction);
    int64_t i = 0;
    for (; i + kLanes <= a.value_dim; i += kLanes) store(acc + i, load(acc + i) * factor);
    for (; i < a.value_dim; ++i) acc[i] = acc[i] * correction;
  }
}

// acc += p · v for kRows queries from `query` on and kColumns vectors of v from `column` on; `part`
// lanes of the last vector exist.
template <typename Stored, int kRows, int kColumns, bool kIsPart>
void add_values(const AttentionArgs& a, const Tile& tile, int64_t query, int64_t column,
                int64_t part, const typename Stored::Element* v, KeyRange keys, int64_t block) {
  float* acc = tile.acc + query * a.value_dim + column;
  const float* p = tile.scores + query * kKeyBlock;
  F total[kRows][kColumns];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      const float* from = acc + r * a.value_dim + c * kLanes;
      total[r][c] = kIsPart ? load_part(from, part) : load(from);
    }
  }
  for (int64_t key = keys.begin; key < keys.end; ++key) {
    const typename Stored::Element* row = v + key * a.v_row_stride + column;
    F values[kColumns];
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      values[c] =
          kIsPart ? Stored::load_part(row + c * kLanes, part) : Stored::load(row + c * kLanes);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const F weight = set(p[r * kKeyBlock + key - block]);
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) total[r][c] = fma(weight, values[c], total[r][c]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      float* to = acc + r * a.value_dim + c * kLanes;
      if (kIsPart) {
        store_part(to, total[r][c], part);
      } else {
        store(to, total[r][c]);
      }
    }
  }
}

template <typename Stored, int kRows>
void add_value_rows(const AttentionArgs& a, const Tile& tile, int64_t query,
                    const typename Stored::Element* v, KeyRange keys, int64_t block) {
  int64_t i = 0;
  for (; i + 4 * kLanes <= a.value_dim; i += 4 * kLanes) {
    add_values<Stored, kRows, 4, false>(a, tile, query, i, 0, v, keys, block);
  }
  for (; i + kLanes <= a.value_dim; i += kLanes) {
    add_values<Stored, kRows, 1, false>(a, tile, query, i, 0, v, keys, block);
  }
  if (i < a.value_dim) {
    add_values<Stored, kRows, 1, true>(a, tile, query, i, a.value_dim - i, v, keys, block);
  }
}

// Calls step(count as a type, first query) for runs of at most kRowTile queries.
template <int kCount>
struct Count {
  static constexpr int value = kCount;
};
template <typename Step>
PIPPIN_VEC void in_row_tiles(int64_t queries, Step step) {
  int64_t query = 0;
  for (; query + kRowTile <= queries; query += kRowTile) step(Count<kRowTile>(), query);
  switch (queries - query) {
    case 1:
      return step(Count<1>(), query);
    case 2:
      return step(Count<2>(), query);
    case 3:
      return step(Count<3>(), query);
    case 4:
      return step(Count<4>(), query);
    case 5:
      return step(Count<5>(), query);
    default:
      return;
  }
}

template <typename Stored>
void attend(const AttentionArgs& a, Tile& tile, const typename Stored::Element* k,
            const typename Stored::Element* v) {
  for (int64_t query = 0; query < tile.queries; ++query) {
    tile.max[query] = -__builtin_inff();
    tile.sum[query] = 0;
  }
  for (int64_t i = 0; i < tile.queries * a.value_dim; ++i) tile.acc[i] = 0;
  for (int64_t block = 0; block < a.keys; block += kKeyBlock) {
    const int64_t end = block + kKeyBlock < a.keys ? block + kKeyBlock : a.keys;
    const KeyRange keys = visible(tile, {block, end});
    if (keys.begin >= keys.end) continue;
    in_row_tiles(tile.queries, [&](auto count, int64_t query) {
      score_rows<Stored, decltype(count)::value>(a, tile, query, k, keys, block);
    });
    softmax_block(a, tile, keys, block);
    in_row_tiles(tile.queries, [&](auto count, int64_t query) {
      add_value_rows<Stored, decltype(count)::value>(a, tile, query, v, keys, block);
    });
  }
  for (int64_t query = 0; query < tile.queries; ++query) {
    const float scale = 1 / tile.sum[query];  // nothing counted: 0 * inf is NaN
    const float* acc = tile.acc + query * a.value_dim;
    for (int64_t i = 0; i < a.value_dim; ++i) tile.out[query][i] = acc[i] * scale;
  }
}

// Gathers the tile of the heads [head, head + heads) and the rows [row, row + rows).
void gather(const AttentionArgs& a, Tile& tile, int64_t head, int64_t heads, int64_t row,
            int64_t rows, float* q) {
  tile.queries = 0;
  tile.mask_rows = 0;
  tile.q = q;
  for (int64_t r = row; r < row + rows; ++r) {
    for (int64_t h = head; h < head + heads; ++h) {
      const float* from = a.q + h * a.q_head_stride + r * a.q_row_stride;
      for (int64_t i = 0; i < a.head_dim; ++i) q[tile.queries * a.head_dim + i] = from[i];
      tile.out[tile.queries] = a.out + h * a.out_head_stride + r * a.out_row_stride;
      tile.mask[tile.queries] = nullptr;
      if (a.mask != nullptr) {
        const float* mask = a.mask + h * a.mask_head_stride + r * a.mask_row_stride;
        tile.mask[tile.queries] = mask;
        if (tile.mask_rows == 0 || tile.unique_mask[tile.mask_rows - 1] != mask) {
          tile.unique_mask[tile.mask_rows++] = mask;
        }
      }
      ++tile.queries;
    }
  }
}

template <typename Stored>
void attention_tiles(const AttentionArgs& a, const AttentionShare& share, float* scratch) {
  Tile tile;
  tile.scores = scratch;
  tile.acc = tile.scores + kTileQueries * kKeyBlock;
  float* q = tile.acc + kTileQueries * a.value_dim;
  for (float& value : tile.correction) value = 0;
  const int64_t group = a.heads / a.kv_heads;
  for (int64_t head = share.head_begin; head < share.head_end;) {
    // As many heads as share the KV head, and fit.
    const int64_t kv_head = head / group;
    int64_t heads = (kv_head + 1) * group - head;
    if (heads > share.head_end - head) heads = share.head_end - head;
    if (heads > kTileQueries) heads = kTileQueries;
    const auto* k = static_cast<const typename Stored::Element*>(a.k) + kv_head * a.k_head_stride;
    const auto* v = static_cast<const typename Stored::Element*>(a.v) + kv_head * a.v_head_stride;
    const int64_t tile_rows = kTileQueries / heads;
    for (int64_t row = share.row_begin; row < share.row_end; row += tile_rows) {
      const int64_t left = share.row_end - row;
      gather(a, tile, head, heads, row, left < tile_rows ? left : tile_rows, q);
      attend<Stored>(a, tile, k, v);
    }
    head += heads;
  }
}

}  // namespace
}  // namespace pippin::kernels
