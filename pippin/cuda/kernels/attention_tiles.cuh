// Attention of many rows by tensor cores, over caches of 16-bit floats.
//
// A warp has 16 rows of the block's tile. Queries, scaled in fp32, and weights are sums of two
// 16-bit floats each, so that products have nearly the precision of fp32; sums are fp32.
#pragma once

#include "pippin/cuda/kernels/attention.cuh"

namespace pippin::cuda {

struct HalfTiles {
  DEVICE static uint16_t round(float x) { return float_to_half(x); }
  DEVICE static float widen(uint16_t bits) { return half_to_float(bits); }
  DEVICE static void multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t* b) {
    const uint32_t pair[2] = {b[0], b[1]};
    multiply_halves(d, a, pair);
  }
};
struct BfloatTiles {
  DEVICE static uint16_t round(float x) { return float_to_bfloat(x); }
  DEVICE static float widen(uint16_t bits) { return bfloat_to_float(bits); }
  DEVICE static void multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t* b) {
    const uint32_t pair[2] = {b[0], b[1]};
    multiply_bfloats(d, a, pair);
  }
};

// x and y as two pairs of 16-bit floats: the nearest ones, and the remainders.
template <typename Type>
DEVICE void split_pair(float x, float y, uint32_t& high, uint32_t& low) {
  const uint16_t first = Type::round(x), second = Type::round(y);
  high = static_cast<uint32_t>(second) << 16 | first;
  low = static_cast<uint32_t>(Type::round(y - Type::widen(second))) << 16 |
        Type::round(x - Type::widen(first));
}

// A block of two warps for each tile of rows (x) and of keys (z) of the mask: a thread for each
// key.
DEVICE void attention_sight_body(const TileAttentionArgs& tiles) {
  const AttentionArgs& a = tiles.attention;
  const int place = static_cast<int>(blockIdx.x), tile = place % tiles.row_tiles;
  const int head = place / tiles.row_tiles % tiles.sight_heads;
  const int batch = place / tiles.row_tiles / tiles.sight_heads;
  const int key_tile = static_cast<int>(blockIdx.z), key = key_tile * kTile + thread_index();
  bool is_seen = false, is_plain = key < a.keys;
  if (key < a.keys) {
    const float* mask = a.mask.data + batch * a.mask.batch_stride + head * a.mask.head_stride +
                        key * a.mask.column_stride;
    const int end = min(a.rows, (tile + 1) * kTile);
    for (int row = tile * kTile; row < end; ++row) {
      const float own = mask[row * a.mask.row_stride];
      is_seen = is_seen || !is_excluded(own);
      is_plain = is_plain && own == 0;
    }
  }
  const uint32_t bit = uint32_t{1} << lane_index();
  const uint32_t seen = warp_or(is_seen ? bit : 0u), plain = warp_or(is_plain ? bit : 0u);
  if (lane_index() != 0) return;
  uint32_t* const to =
      tiles.sight + (static_cast<int64_t>(place) * tiles.key_tiles + key_tile) * 4 + warp_index();
  to[0] = seen;
  to[2] = plain;
}

// Columns of a row of queries or keys in shared memory: 16 bytes more than an even number of 16
// bytes, so that eight rows are in different banks.
DEVICE int tile_columns(int columns) {
  return (columns + 15) / 16 * 16 + 8;
}

// `shared`: 64 floats, then 16-bit floats: two tiles of queries [64, tile_columns(head_dim)], and
// in each stage a tile of keys like them and one of values [64, kSlice + 8].
template <typename Type, int kSlice>
DEVICE void attend_tiles(const TileAttentionArgs& tiles) {
  SHARED(shared);
  constexpr int kKeys = kTile / 8, kColumns = kSlice / 8;  // of fragments
  const AttentionArgs& a = tiles.attention;
  const int thread = thread_index(), lane = lane_index(), warp = warp_index();
  const int columns = tile_columns(a.head_dim), depth = columns - 8;
  constexpr int kValueColumns = kSlice + 8;
  float* const factors = reinterpret_cast<float*>(shared);
  auto* const q_high = reinterpret_cast<uint16_t*>(factors + kTile);
  uint16_t* const q_low = q_high + kTile * columns;
  uint16_t* const stages = q_low + kTile * columns;
  const int stage_size = kTile * (columns + kValueColumns);

  // The last tiles of rows first: with a causal mask, they see most.
  const int place = static_cast<int>(blockIdx.x), across = a.batch * a.heads * tiles.slices;
  const int tile = tiles.row_tiles - 1 - place / across, slice = place % tiles.slices;
  const int head = place % across / tiles.slices % a.heads;
  const int batch = place % across / tiles.slices / a.heads;
  const int kv_head = head / (a.heads / a.kv_heads), first_row = tile * kTile;
  const uint32_t* sight = nullptr;
  if (tiles.sight != nullptr) {
    const int of_batch = tiles.sight_batches == 1 ? 0 : batch;
    const int of_head = tiles.sight_heads == 1 ? 0 : head;
    sight = tiles.sight +
            (static_cast<int64_t>(of_batch) * tiles.sight_heads + of_head) * tiles.row_tiles *
                tiles.key_tiles * 4 +
            static_cast<int64_t>(tile) * tiles.key_tiles * 4;
  }
  const auto next_tile = [&](int from) {
    if (sight == nullptr) return from;
    while (from < tiles.key_tiles && (sight[4 * from] | sight[4 * from + 1]) == 0) ++from;
    return from;
  };

  const auto* const k =
      static_cast<const uint16_t*>(a.k.data) + batch * a.k.batch_stride + kv_head * a.k.head_stride;
  const auto* const v = static_cast<const uint16_t*>(a.v.data) + batch * a.v.batch_stride +
                        kv_head * a.v.head_stride + slice * kSlice;
  const int value_columns = min(kSlice, a.value_dim - slice * kSlice);
  const auto fetch = [&](int key_tile, int stage) {
    uint16_t* const keys = stages + stage * stage_size;
    uint16_t* const values = keys + kTile * columns;
    const auto exists = [&](int key) {
      if (key_tile * kTile + key >= a.keys) return false;
      return sight == nullptr || (sight[4 * key_tile + key / 32] >> (key % 32) & 1) != 0;
    };
    const auto copy = [&](uint16_t* to, int to_columns, const uint16_t* from, int64_t stride,
                          int width, int padded) {
      const int words = padded / 8;
      for (int i = thread; i < kTile * words; i += block_threads()) {
        const int key = i / words, column = i % words * 8;
        uint16_t* const place = to + key * to_columns + column;
        if (column < width && exists(key)) {
          copy_later(place,
                     from + (static_cast<int64_t>(key_tile) * kTile + key) * stride + column);
        } else {
          *reinterpret_cast<uint4*>(place) = make_uint4(0, 0, 0, 0);
        }
      }
    };
    copy(keys, columns, k, a.k.row_stride, a.head_dim, depth);
    copy(values, kValueColumns, v, a.v.row_stride, value_columns, kSlice);
  };

  int key_tile = next_tile(0), stage = 0;
  if (key_tile < tiles.key_tiles) fetch(key_tile, 0);
  end_copy_group();

  // The warp's queries. A power of two brings the largest of a row near 2^8, so that halves have
  // the range.
  for (int i = 0; i < 16; ++i) {
    const int row = warp * 16 + i;
    const float* const from = a.q.data + batch * a.q.batch_stride + head * a.q.head_stride +
                              (first_row + row) * a.q.row_stride;
    const bool exists = first_row + row < a.rows;
    float most = 0;
    for (int column = lane; column < a.head_dim && exists; column += 32) {
      most = fmaxf(most, fabsf(from[column * a.q.column_stride] * a.scale));
    }
    const int exponent = static_cast<int>(float_to_bits(warp_largest(most)) >> 23);
    const int shift = exponent == 0 ? 0 : max(-100, min(100, 127 + 8 - exponent));
    const float factor = bits_to_float(static_cast<uint32_t>(127 + shift) << 23);
    if (lane == 0) factors[row] = bits_to_float(static_cast<uint32_t>(127 - shift) << 23);
    for (int column = 2 * lane; column < depth; column += 64) {
      float pair[2] = {0, 0};
      for (int j = 0; j < 2; ++j) {
        if (exists && column + j < a.head_dim) {
          pair[j] = from[(column + j) * a.q.column_stride] * a.scale * factor;
        }
      }
      uint32_t high, low;
      split_pair<Type>(pair[0], pair[1], high, low);
      *reinterpret_cast<uint32_t*>(q_high + row * columns + column) = high;
      *reinterpret_cast<uint32_t*>(q_low + row * columns + column) = low;
    }
  }
  warp_barrier();

  // Row 0 of the lane is row lane / 4 of the warp, row 1 eight further.
  const int own_row = warp * 16 + lane / 4;
  const float unscale[2] = {factors[own_row], factors[own_row + 8]};
  float totals[kColumns][4], tops[2] = {-INFINITY, -INFINITY}, sums[2] = {0, 0};
  UNROLL
  for (int i = 0; i < kColumns; ++i) {
    UNROLL
    for (int j = 0; j < 4; ++j) totals[i][j] = 0;
  }
  const int matrix_row = lane & 7, matrix_low = lane >> 3 & 1, matrix_high = lane >> 4;
  const int q_place = (warp * 16 + matrix_row + 8 * matrix_low) * columns + 8 * matrix_high;
  const int k_place = (matrix_row + 8 * matrix_high) * columns + 8 * matrix_low;
  const int v_place = (matrix_row + 8 * matrix_low) * kValueColumns + 8 * matrix_high;
  while (key_tile < tiles.key_tiles) {
    const int next = next_tile(key_tile + 1);
    if (tiles.stages == 2) {
      if (next < tiles.key_tiles) fetch(next, stage ^ 1);
      end_copy_group();
      wait_for_copies<1>();
    } else {
      wait_for_copies<0>();
    }
    barrier();
    const uint16_t* const keys = stages + stage * stage_size;
    const uint16_t* const values = keys + kTile * columns;
    float scores[kKeys][4];
    UNROLL
    for (int i = 0; i < kKeys; ++i) {
      UNROLL
      for (int j = 0; j < 4; ++j) scores[i][j] = 0;
    }
    for (int d = 0; d < depth; d += 16) {
      uint32_t high[4], low[4];
      load_matrices(high, q_high + q_place + d);
      load_matrices(low, q_low + q_place + d);
      UNROLL
      for (int i = 0; i < kKeys; i += 2) {
        uint32_t pairs[4];
        load_matrices(pairs, keys + k_place + i * 8 * columns + d);
        Type::multiply(scores[i], high, pairs);
        Type::multiply(scores[i], low, pairs);
        Type::multiply(scores[i + 1], high, pairs + 2);
        Type::multiply(scores[i + 1], low, pairs + 2);
      }
    }
    const int first_key = key_tile * kTile + lane % 4 * 2;
    const bool is_plain = sight == nullptr
                              ? (key_tile + 1) * kTile <= a.keys
                              : (sight[4 * key_tile + 2] & sight[4 * key_tile + 3]) == 0xffffffffu;
    UNROLL
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + own_row + 8 * half;
      const float* mask = nullptr;
      if (!is_plain && sight != nullptr && row < a.rows) {
        mask = a.mask.data + batch * a.mask.batch_stride + head * a.mask.head_stride +
               row * a.mask.row_stride;
      }
      float top = tops[half];
      UNROLL
      for (int i = 0; i < kKeys; ++i) {
        UNROLL
        for (int j = 0; j < 2; ++j) {
          float score = scores[i][2 * half + j] * unscale[half];
          if (a.softcap != 0) score = a.softcap * tanhf(score * a.inverse_softcap);
          const int key = first_key + 8 * i + j;
          if (!is_plain) {
            if (key >= a.keys) {
              score = -INFINITY;
            } else if (mask != nullptr) {
              const float own = mask[key * a.mask.column_stride];
              score = is_excluded(own) ? own : score + own;
            }
          }
          scores[i][2 * half + j] = score;
          top = fmaxf(top, score);
        }
      }
      top = fmaxf(top, across_lanes(top, 1));
      top = fmaxf(top, across_lanes(top, 2));
      const float shift = SoftmaxState::shift_of(top);
      const float factor = fast_exp(tops[half] - shift);
      tops[half] = top;
      sums[half] *= factor;
      UNROLL
      for (int i = 0; i < kColumns; ++i) {
        totals[i][2 * half] *= factor;
        totals[i][2 * half + 1] *= factor;
      }
      UNROLL
      for (int i = 0; i < kKeys; ++i) {
        UNROLL
        for (int j = 0; j < 2; ++j) {
          const float weight = fast_exp(scores[i][2 * half + j] - shift);
          scores[i][2 * half + j] = weight;
          sums[half] += weight;
        }
      }
    }
    UNROLL
    for (int i = 0; i < kKeys; i += 2) {
      uint32_t high[4], low[4];
      UNROLL
      for (int j = 0; j < 4; ++j) {
        const float* const pair = scores[i + j / 2] + j % 2 * 2;
        split_pair<Type>(pair[0], pair[1], high[j], low[j]);
      }
      UNROLL
      for (int column = 0; column < kColumns; column += 2) {
        uint32_t pairs[4];
        load_transposed(pairs, values + v_place + i * 8 * kValueColumns + column * 8);
        Type::multiply(totals[column], high, pairs);
        Type::multiply(totals[column], low, pairs);
        Type::multiply(totals[column + 1], high, pairs + 2);
        Type::multiply(totals[column + 1], low, pairs + 2);
      }
    }
    barrier();
    if (tiles.stages == 2) {
      stage ^= 1;
    } else if (next < tiles.key_tiles) {
      fetch(next, 0);
      end_copy_group();
    }
    key_tile = next;
  }

  UNROLL
  for (int half = 0; half < 2; ++half) {
    float sum = sums[half];
    sum += across_lanes(sum, 1);
    sum += across_lanes(sum, 2);
    const int row = first_row + own_row + 8 * half;
    if (row >= a.rows) continue;
    SoftmaxState state = SoftmaxState::begin(a.sinks, head);
    state.raise(tops[half]);
    const float factor = expf(tops[half] - SoftmaxState::shift_of(state.top));
    sum = sum * factor + state.sum;
    float* const out =
        a.out.data + batch * a.out.batch_stride + head * a.out.head_stride + row * a.out.row_stride;
    UNROLL
    for (int i = 0; i < kColumns; ++i) {
      UNROLL
      for (int j = 0; j < 2; ++j) {
        const int column = 8 * i + lane % 4 * 2 + j;
        if (column >= value_columns) continue;
        out[(slice * kSlice + column) * a.out.column_stride] =
            fast_divide(totals[i][2 * half + j] * factor, sum);
      }
    }
  }
}

#define PIPPIN_TILE_ATTENTION(name, Type, slice)                \
  DEVICE void name##_body(const TileAttentionArgs& arguments) { \
    attend_tiles<Type, slice>(arguments);                       \
  }
PIPPIN_TILE_ATTENTION(attention_tiles_64_f16, HalfTiles, 64)
PIPPIN_TILE_ATTENTION(attention_tiles_64_bf16, BfloatTiles, 64)
PIPPIN_TILE_ATTENTION(attention_tiles_128_f16, HalfTiles, 128)
PIPPIN_TILE_ATTENTION(attention_tiles_128_bf16, BfloatTiles, 128)
#undef PIPPIN_TILE_ATTENTION

}  // namespace pippin::cuda
