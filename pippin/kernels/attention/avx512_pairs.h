// Attention of many queries by products of pairs of bf16 (vdpbf16ps), for `fast`: queries, keys,
// values and weights are rounded to bf16 (infinity above 3.39e38), whose products are exact in
// fp32; scores, largest scores and sums stay fp32. Twice the products of fp32 in an instruction,
// and half of the loads.
//
// The products are those of many.h, with 32-bit lanes that hold the two factors of a pair:
//
//   scoresᵀ [keys, panel]      pairs of neighbouring elements of a head
//   valuesᵀ [value_dim, panel] pairs of neighbouring keys, the first one at an even place of a chunk,
//                              so that the bits of a query do not depend on its tile
//
// Both matrices of pairs are laid out so that the rows of a tile are side by side:
//
//   keys    [head_dim / 2][kChunk]       k0d0 k0d1 | k1d0 k1d1 | ...
//   values  [kChunk / 2][value_dim]      k0d0 k1d0 | k0d1 k1d1 | ...
#pragma once

#include "pippin/kernels/attention/many.h"

namespace pippin::kernels {
namespace {

// The distance between rows of pairs.
constexpr int64_t kKeyPairsStride = kChunk + kLanes;
PIPPIN_VEC int64_t value_pairs_stride(const AttentionArgs& a) {
  return (a.value_dim + kLanes - 1) / kLanes * kLanes + kLanes;
}
static_assert(kKeyPairsStride <= 2 * kPairRows && kChunk / 2 <= kPairRows &&
              2 * kLanes <= kPairsApart);

PIPPIN_VEC int64_t even_up(int64_t n) {
  return (n + 1) / 2 * 2;
}

alignas(64) constexpr uint16_t kTurns[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                             21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                             11, 27, 12, 28, 13, 29, 14, 30, 15, 31};

// The lanes of `first` and `second` as bf16, side by side.
PIPPIN_VEC __m512i pairs_of(F first, F second) {
  const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second.v, first.v));
  return _mm512_permutexvar_epi16(_mm512_load_si512(kTurns), both);
}
// Neighbouring elements of 32.
PIPPIN_VEC __m512i neighbours(F first, F second) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(second.v, first.v));
}

void pack_query_pairs(const AttentionArgs& a, const ManyQueries& queries, uint32_t* to) {
  const F scale = set(a.scale);
  const int64_t rows = even_up(a.head_dim) / 2;
  for (int64_t first = 0; first < queries.count; first += kLanes) {
    uint32_t* column = to + first / kPanel * kPanel * rows + first % kPanel;
    const int64_t lanes = lanes_of(queries.count, first);
    for (int64_t d = 0; d < a.head_dim; d += kLanes) {
      F x[kLanes];
      load_lanes(queries.q + first, lanes, d, a.q_dim_stride, a.head_dim - d, x);
      for (int64_t j = 0; j < kLanes && d + j < a.head_dim; j += 2) {
        _mm512_storeu_si512(column + (d + j) / 2 * kPanel,
                            pairs_of(x[j] * scale, x[j + 1] * scale));
      }
    }
  }
}

// A matrix [rows, columns] of a cache, with columns side by side.
template <typename Element>
struct Matrix {
  const Element* data;
  int64_t stride, rows, columns;
};

template <typename Stored>
PIPPIN_VEC F load_left(const typename Stored::Element* p, int64_t left) {
  if (left >= kLanes) return Stored::load(p);
  return left > 0 ? Stored::load_part(p, left) : set(0);
}

// Pairs of neighbouring rows: to[i][c] has the elements (2i, c) and (2i + 1, c), or 0.
template <typename Stored>
void pair_rows(const Matrix<typename Stored::Element>& x, uint32_t* to, int64_t stride) {
  for (int64_t r = 0; r < x.rows; r += 2, to += stride) {
    const typename Stored::Element* row = x.data + r * x.stride;
    const bool last = r + 1 == x.rows;
    for (int64_t c = 0; c < x.columns; c += kLanes) {
      const int64_t left = x.columns - c;
      const F second = last ? set(0) : load_left<Stored>(row + x.stride + c, left);
      _mm512_storeu_si512(to + c, pairs_of(load_left<Stored>(row + c, left), second));
    }
  }
}

// Pairs of neighbouring columns: to[i][r] has the elements (r, 2i) and (r, 2i + 1), or 0.
template <typename Stored>
void pair_columns(const Matrix<typename Stored::Element>& x, uint32_t* to, int64_t stride) {
  for (int64_t r = 0; r < x.rows; r += kLanes) {
    for (int64_t c = 0; c < x.columns; c += 2 * kLanes) {
      const int64_t left = x.columns - c;
      F rows[kLanes];
      for (int64_t i = 0; i < kLanes; ++i) {
        const typename Stored::Element* row = x.data + (r + i) * x.stride + c;
        rows[i] = set(0);
        if (r + i >= x.rows) continue;
        rows[i].v = _mm512_castsi512_ps(neighbours(load_left<Stored>(row, left),
                                                   load_left<Stored>(row + kLanes, left - kLanes)));
      }
      transpose(rows);
      const int64_t count = smaller_of(kLanes, even_up(left) / 2);
      for (int64_t j = 0; j < count; ++j) {
        store(reinterpret_cast<float*>(to + (c / 2 + j) * stride + r), rows[j]);
      }
    }
  }
}

// The keys [begin, end), which begin at an even place; the first one is 0 if it is before
// `visible`.
template <typename Stored>
void pack_key_pairs(const AttentionArgs& a, int64_t kv_head, KeyRange keys, int64_t visible,
                    float* floats, uint32_t* to) {
  const int64_t count = keys.end - keys.begin;
  if constexpr (kHasCodes<Stored>) {
    const Floats k = keys_in_floats<Stored>(a, kv_head, keys, floats);
    pair_columns<StoredF32>({k.data, k.key_stride, count, a.head_dim}, to, kKeyPairsStride);
  } else {
    const auto* k = static_cast<const typename Stored::Element*>(a.k) + kv_head * a.k_head_stride +
                    keys.begin * a.k_key_stride;
    if (a.k_dim_stride == 1) {
      pair_columns<Stored>({k, a.k_key_stride, count, a.head_dim}, to, kKeyPairsStride);
    } else {
      pair_rows<Stored>({k, a.k_dim_stride, a.head_dim, count}, to, kKeyPairsStride);
    }
  }
  if (keys.begin == visible) return;
  for (int64_t i = 0; i < even_up(a.head_dim) / 2; ++i) to[i * kKeyPairsStride] = 0;
}
template <typename Stored>
void pack_value_pairs(const AttentionArgs& a, int64_t kv_head, KeyRange keys, int64_t visible,
                      float* floats, uint32_t* to) {
  const int64_t count = keys.end - keys.begin, stride = value_pairs_stride(a);
  if constexpr (kHasCodes<Stored>) {
    const Floats v = values_in_floats<Stored>(a, kv_head, keys, floats);
    pair_rows<StoredF32>({v.data, v.key_stride, count, a.value_dim}, to, stride);
  } else {
    const auto* v = static_cast<const typename Stored::Element*>(a.v) + kv_head * a.v_head_stride +
                    keys.begin * a.v_key_stride;
    if (a.v_dim_stride == 1) {
      pair_rows<Stored>({v, a.v_key_stride, count, a.value_dim}, to, stride);
    } else {
      pair_columns<Stored>({v, a.v_dim_stride, a.value_dim, count}, to, stride);
    }
  }
  if (keys.begin == visible) return;
  for (int64_t d = 0; d < a.value_dim; ++d) to[d] &= 0xffff0000;
}

// to [kRows, kPanel] = a · b, or += a · b: `n` pairs, those of row r at a[r + i * stride], with b
// [n, kPanel].
template <int kRows, int kColumns, bool kAdd>
void pair_tile(const uint32_t* a, int64_t stride, const uint32_t* b, int64_t n, float* to) {
  __m512 total[kRows][kColumns];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int c = 0; c < kColumns; ++c) {
      total[r][c] = kAdd ? load(to + r * kPanel + c * kLanes).v : _mm512_setzero_ps();
    }
  }
  for (int64_t i = 0; i < n; ++i, a += stride, b += kPanel) {
    __m512i columns[kColumns];
#pragma GCC unroll 2
    for (int c = 0; c < kColumns; ++c) columns[c] = _mm512_loadu_si512(b + c * kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const __m512i x = _mm512_set1_epi32(static_cast<int32_t>(a[r]));
#pragma GCC unroll 2
      for (int c = 0; c < kColumns; ++c) {
        total[r][c] = _mm512_dpbf16_ps(total[r][c], reinterpret_cast<__m512bh>(x),
                                       reinterpret_cast<__m512bh>(columns[c]));
      }
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int c = 0; c < kColumns; ++c) store(to + r * kPanel + c * kLanes, {total[r][c]});
  }
}

// Tiles of 12 rows, and of 8 where those leave 4: fewer sums would wait for each other.
template <int kColumns, bool kAdd = false>
void pair_product(const uint32_t* a, int64_t stride, int64_t rows, const uint32_t* b, int64_t n,
                  float* to) {
  const auto tile = [&](auto count, int64_t r) {
    pair_tile<decltype(count)::value, kColumns, kAdd>(a + r, stride, b, n, to + r * kPanel);
  };
  int64_t r = 0;
  for (; rows - r >= 12 && rows - r != 16; r += 12) tile(Count<12>(), r);
  for (; rows - r >= 8; r += 8) tile(Count<8>(), r);
  if (r == rows) return;
  if (!kAdd && rows >= 8) return tile(Count<8>(), rows - 8);  // computes some rows twice
  for (; r < rows; ++r) tile(Count<1>(), r);
}

// exp(x) for x <= 0, off by 1e-4 of it, which the weights' rounding hides; 0 below exp(-104).
PIPPIN_VEC F exp_for_pairs(F x) {
  const F t = max(set(-151), x * set(1.44269504f));
  const F n = round(t);
  return times_power_of_two(
      polynomial(t - n, {5.500884652e-2f, 2.422111743e-1f, 6.932829598e-1f, 1.0f}), n);
}

// As many_softmax(), for an even number of keys; weights become pairs, [keys / 2, kPanel].
template <int kColumns>
void pair_softmax(float* scores, int64_t keys, float* largest, float* sums) {
  F most[kColumns], total[kColumns];
#pragma GCC unroll 2
  for (int c = 0; c < kColumns; ++c) most[c] = set(-__builtin_inff()), total[c] = set(0);
  for (int64_t key = 0; key < keys; ++key) {
#pragma GCC unroll 2
    for (int c = 0; c < kColumns; ++c) {
      most[c] = max(load(scores + key * kPanel + c * kLanes), most[c]);  // ignores NaN
    }
  }
#pragma GCC unroll 2
  for (int c = 0; c < kColumns; ++c) {
    store(largest + c * kLanes, most[c]);
    most[c] = shift_of(most[c]);
  }
  for (int64_t key = 0; key < keys; key += 2) {
#pragma GCC unroll 2
    for (int c = 0; c < kColumns; ++c) {
      const float* score = scores + key * kPanel + c * kLanes;
      const F first = exp_for_pairs(load(score) - most[c]);
      const F second = exp_for_pairs(load(score + kPanel) - most[c]);
      _mm512_storeu_si512(scores + key / 2 * kPanel + c * kLanes, pairs_of(first, second));
      total[c] = total[c] + (first + second);
    }
  }
#pragma GCC unroll 2
  for (int c = 0; c < kColumns; ++c) store(sums + c * kLanes, total[c]);
}

// Like many_chunk.
template <typename Stored>
void pair_chunk(const AttentionArgs& a, const ManyQueries& queries, const ManyScratch& scratch,
                int64_t kv_head, int64_t chunk, Sight seen, float* part, float* total,
                ManyFactors& factors) {
  KeyRange keys = chunk_keys(a, chunk);
  auto* pairs = reinterpret_cast<uint32_t*>(scratch.pairs);
  Panel panels[kManyQueries / kPanel];
  in_panels(queries.count, [&](auto, int64_t index) {
    panels[index] = see_panel(a, queries, index * kPanel, keys, seen);
    Panel& panel = panels[index];
    if (panel.begin < panel.ends[kPanelVectors - 1]) panel.begin = panel.begin / 2 * 2;
  });
  if (seen == Sight::Part) keys = visible(a, queries.unique_mask, queries.masks, keys);
  const int64_t first_visible = keys.begin;
  keys.begin = keys.begin / 2 * 2;
  const int64_t rows = even_up(a.head_dim) / 2;
  pack_key_pairs<Stored>(a, kv_head, keys, first_visible, scratch.cache, pairs);
  in_panels(queries.count, [&](auto columns, int64_t index) {
    constexpr int kColumns = decltype(columns)::value;
    const Panel& panel = panels[index];
    const int64_t count = even_up(panel.ends[kColumns - 1] - panel.begin);
    float* scores = scratch.scores + index * kChunk * kPanel;
    const auto* q = reinterpret_cast<const uint32_t*>(scratch.q) + index * rows * kPanel;
    in_segments<kColumns>(panel, [&](auto seeing, int64_t first, KeyRange segment) {
      pair_product<decltype(seeing)::value>(
          pairs + segment.begin - keys.begin, kKeyPairsStride, segment.end - segment.begin,
          q + first * kLanes, rows,
          scores + (segment.begin - panel.begin) * kPanel + first * kLanes);
    });
    for (int c = 0; c < kColumns; ++c) {
      float* column = scores + c * kLanes;
      const int64_t own = panel.ends[c] - panel.begin;
      for (int64_t key = 0; key < own && a.softcap != 0; ++key) {
        store(column + key * kPanel, capped(load(column + key * kPanel), a.softcap));
      }
      if (seen == Sight::Part) {
        add_mask(a, queries, {panel.begin, panel.ends[c]}, index * kPanel + c * kLanes, column);
      }
      for (int64_t key = own; key < count; ++key) {
        store(column + key * kPanel, set(-__builtin_inff()));
      }
    }
    pair_softmax<kColumns>(scores, count, part + index * kPanel, many_sums(part) + index * kPanel);
  });
  if (total != nullptr) {
    many_factors(queries.count, total, part, factors);
    if (!factors.part_counts) return;
  }
  pack_value_pairs<Stored>(a, kv_head, keys, first_visible, scratch.cache, pairs);
  const int64_t stride = value_pairs_stride(a);
  in_panels(queries.count, [&](auto columns, int64_t index) {
    Panel panel = panels[index];
    for (int64_t& end : panel.ends) end = panel.begin + even_up(end - panel.begin);
    const auto* weights =
        reinterpret_cast<const uint32_t*>(scratch.scores + index * kChunk * kPanel);
    float* to = many_values(part, a, index);
    in_segments<decltype(columns)::value>(panel, [&](auto seeing, int64_t first, KeyRange segment) {
      constexpr int kSeeing = decltype(seeing)::value;
      const uint32_t* from = pairs + (segment.begin - keys.begin) / 2 * stride;
      const uint32_t* p = weights + (segment.begin - panel.begin) / 2 * kPanel + first * kLanes;
      const int64_t length = (segment.end - segment.begin) / 2;
      if (first == 0) {
        pair_product<kSeeing>(from, stride, a.value_dim, p, length, to);
      } else {
        pair_product<kSeeing, true>(from, stride, a.value_dim, p, length, to + first * kLanes);
      }
    });
  });
}

template <typename Stored>
struct PairProducts {
  static void pack(const AttentionArgs& a, const ManyQueries& queries, float* to) {
    pack_query_pairs(a, queries, reinterpret_cast<uint32_t*>(to));
  }
  static void chunk(const AttentionArgs& a, const ManyQueries& queries, const ManyScratch& scratch,
                    int64_t kv_head, int64_t chunk, Sight seen, float* part, float* total,
                    ManyFactors& factors) {
    pair_chunk<Stored>(a, queries, scratch, kv_head, chunk, seen, part, total, factors);
  }
};

}  // namespace
}  // namespace pippin::kernels
