// Attention of many queries: prefill, and values whose keys are contiguous per element. The lanes
// of a vector are queries, so that softmax runs along the rows of a matrix and every step is a
// product of the same form:
//
//   scoresᵀ [keys, panel]      = k [keys, head_dim]   · qᵀ [head_dim, panel]
//   valuesᵀ [value_dim, panel] = vᵀ [value_dim, keys] · pᵀ [keys, panel]
//
// where a panel is two vectors of queries: its scores for a chunk of keys fit into the first-level
// cache. Elements of k and v are broadcast, so their layout does not matter; fp16 and bf16 are
// converted a chunk at a time, for all panels of a tile.
//
// A part is [largest scores, sums (a float per lane of kManyQueries), valuesᵀ of panel 0, ...].
#pragma once

#include "pippin/kernels/attention/codes.h"
#include "pippin/kernels/attention/tile.h"

namespace pippin::kernels {
namespace {

using ManyQueries = Queries<kManyQueries>;

constexpr int kPanelVectors = 2;
constexpr int64_t kPanel = kPanelVectors * kLanes;
static_assert(kManyQueries % kPanel == 0);

struct ManyScratch {
  float* q;       // [panels, head_dim, kPanel], scaled
  float* cache;   // a chunk of k, then of v, in fp32
  float* pairs;   // the same as pairs of bf16 (avx512_pairs.h)
  float* scores;  // [panels, kChunk, kPanel]
  float* total;   // a part
  float* part;    // another part
};

// to [kRows, kPanel] = a · b with b [n, kPanel], or to += a · b. Element i of row r is a[r * row +
// i * step].
template <int kRows, int kColumns, bool kAdd>
void product_tile(const float* a, int64_t row, int64_t step, const float* b, int64_t n, float* to) {
  const float* rows[kRows];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) rows[r] = a + r * row;
  F total[kRows][kColumns];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int c = 0; c < kColumns; ++c) {
      total[r][c] = kAdd ? load(to + r * kPanel + c * kLanes) : set(0);
    }
  }
  for (int64_t i = 0, at = 0; i < n; ++i, at += step) {
    F columns[kColumns];
#pragma GCC unroll 2
    for (int c = 0; c < kColumns; ++c) columns[c] = load(b + i * kPanel + c * kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const F x = set(rows[r][at]);
#pragma GCC unroll 2
      for (int c = 0; c < kColumns; ++c) total[r][c] = fma(x, columns[c], total[r][c]);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int c = 0; c < kColumns; ++c) store(to + r * kPanel + c * kLanes, total[r][c]);
  }
}

template <int kColumns, bool kAdd = false>
void product(const float* a, int64_t row, int64_t step, int64_t rows, const float* b, int64_t n,
             float* to) {
  constexpr int kRows = kRowTile * 4 / kPanelVectors;
  const auto tile = [&](auto count, int64_t r) {
    product_tile<decltype(count)::value, kColumns, kAdd>(a + r * row, row, step, b, n,
                                                         to + r * kPanel);
  };
  int64_t r = 0;
  for (; r + kRows <= rows; r += kRows) tile(Count<kRows>(), r);
  if (r == rows) return;
  if (!kAdd && rows >= kRows)
    return tile(Count<kRows>(), rows - kRows);  // computes some rows twice
  for (; r < rows; ++r) tile(Count<1>(), r);
}

// Calls step(columns as a type, panel) for every panel that has queries.
template <typename Step>
PIPPIN_VEC void in_panels(int64_t queries, Step step) {
  for (int64_t panel = 0; panel * kPanel < queries; ++panel) {
    if (queries - panel * kPanel > kLanes) {
      step(Count<2>(), panel);
    } else {
      step(Count<1>(), panel);
    }
  }
}

PIPPIN_VEC F load_up_to(const float* p, int64_t n) {
  return n >= kLanes ? load(p) : load_part(p, n);
}

// x[j] = element `at` + j * stride of each query of a group of `lanes`; `left` elements exist.
void load_lanes(const float* const* queries, int64_t lanes, int64_t at, int64_t stride,
                int64_t left, F (&x)[kLanes]) {
  if (stride == 1) {
    for (int64_t i = 0; i < kLanes; ++i) {
      x[i] = i < lanes ? load_up_to(queries[i] + at, left) : set(0);
    }
    transpose(x);
  } else if (evenly_spaced(queries, lanes, 1)) {
    for (int64_t j = 0; j < kLanes; ++j) {
      x[j] = j < left ? load_up_to(queries[0] + (at + j) * stride, lanes) : set(0);
    }
  } else {
    for (int64_t j = 0; j < kLanes; ++j) {
      float copy[kLanes] = {};
      for (int64_t i = 0; i < lanes && j < left; ++i) copy[i] = queries[i][(at + j) * stride];
      x[j] = load(copy);
    }
  }
}

PIPPIN_VEC int64_t lanes_of(int64_t queries, int64_t first) {
  return queries - first < kLanes ? queries - first : kLanes;
}

[[maybe_unused]] void pack_queries(const AttentionArgs& a, const ManyQueries& queries, float* to) {
  const F scale = set(a.scale);
  for (int64_t first = 0; first < queries.count; first += kLanes) {
    float* column = to + first / kPanel * kPanel * a.head_dim + first % kPanel;
    const int64_t lanes = lanes_of(queries.count, first);
    for (int64_t d = 0; d < a.head_dim; d += kLanes) {
      F x[kLanes];
      load_lanes(queries.q + first, lanes, d, a.q_dim_stride, a.head_dim - d, x);
      for (int64_t j = 0; j < kLanes && d + j < a.head_dim; ++j) {
        store(column + (d + j) * kPanel, x[j] * scale);
      }
    }
  }
}

// Keys of a cache in fp32: in place or converted.
struct Floats {
  const float* data;  // the first key
  int64_t key_stride, dim_stride;
};
template <typename Stored>
Floats floats_of(const typename Stored::Element* cache, int64_t key_stride, int64_t dim_stride,
                 KeyRange keys, int64_t dims, float* memory) {
  const typename Stored::Element* first = cache + keys.begin * key_stride;
  if constexpr (sizeof(*first) == sizeof(float)) return {first, key_stride, dim_stride};
  const int64_t count = keys.end - keys.begin;
  const bool by_key = dim_stride == 1;
  const int64_t rows = by_key ? count : dims, columns = by_key ? dims : count;
  const int64_t stride = by_key ? key_stride : dim_stride;
  for (int64_t r = 0; r < rows; ++r) {
    const typename Stored::Element* from = first + r * stride;
    float* to = memory + r * columns;
    int64_t i = 0;
    for (; i + kLanes <= columns; i += kLanes) store(to + i, Stored::load(from + i));
    if (i < columns) store_part(to + i, Stored::load_part(from + i, columns - i), columns - i);
  }
  return by_key ? Floats{memory, columns, 1} : Floats{memory, 1, columns};
}

template <typename Stored>
Floats keys_in_floats(const AttentionArgs& a, int64_t kv_head, KeyRange keys, float* memory) {
  using Element = typename Stored::Element;
  if constexpr (kHasCodes<Stored>) {
    floats_of_codes(coded_keys<Element>(a, kv_head).from(keys.begin), keys.end - keys.begin,
                    memory);
    return {memory, a.head_dim, 1};
  } else {
    const auto* k = static_cast<const Element*>(a.k) + kv_head * a.k_head_stride;
    return floats_of<Stored>(k, a.k_key_stride, a.k_dim_stride, keys, a.head_dim, memory);
  }
}
template <typename Stored>
Floats values_in_floats(const AttentionArgs& a, int64_t kv_head, KeyRange keys, float* memory) {
  using Element = typename Stored::Element;
  if constexpr (kHasCodes<Stored>) {
    floats_of_codes(coded_values<Element>(a, kv_head).from(keys.begin), keys.end - keys.begin,
                    memory);
    return {memory, a.value_dim, 1};
  } else {
    const auto* v = static_cast<const Element*>(a.v) + kv_head * a.v_head_stride;
    return floats_of<Stored>(v, a.v_key_stride, a.v_dim_stride, keys, a.value_dim, memory);
  }
}

// Whether the masks of a group of queries are 0 at kLanes keys from `key` on.
bool adds_nothing(const float* const* masks, int64_t lanes, int64_t key) {
  I seen = set_i(0);
  for (int64_t i = 0; i < lanes; ++i) seen = seen | bits(load(masks[i] + key));
  return !any(~(seen == set_i(0)));
}

void add_mask(const AttentionArgs& a, const ManyQueries& queries, KeyRange keys, int64_t first,
              float* scores) {
  const int64_t lanes = lanes_of(queries.count, first);
  for (int64_t key = keys.begin; key < keys.end; key += kLanes) {
    if (a.mask_key_stride == 1 && key + kLanes <= keys.end &&
        adds_nothing(queries.mask + first, lanes, key)) {
      continue;
    }
    F x[kLanes];
    load_lanes(queries.mask + first, lanes, key, a.mask_key_stride, keys.end - key, x);
    for (int64_t j = 0; j < kLanes && key + j < keys.end; ++j) {
      float* score = scores + (key + j - keys.begin) * kPanel;
      store(score, load(score) + x[j]);
    }
  }
}

// Scores of one panel become exp(score - largest).
template <int kColumns>
void many_softmax(float* scores, int64_t keys, float* largest, float* sums) {
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
  for (int64_t key = 0; key < keys; ++key) {
#pragma GCC unroll 2
    for (int c = 0; c < kColumns; ++c) {
      float* score = scores + key * kPanel + c * kLanes;
      const F p = exp(load(score) - most[c]);
      store(score, p);
      total[c] = total[c] + p;
    }
  }
#pragma GCC unroll 2
  for (int c = 0; c < kColumns; ++c) store(sums + c * kLanes, total[c]);
}

PIPPIN_VEC float* many_sums(float* part) {
  return part + kManyQueries;
}
PIPPIN_VEC float* many_values(float* part, const AttentionArgs& a, int64_t panel) {
  return part + kManyPartHeader + panel * a.value_dim * kPanel;
}

// The factors that bring a total and a part to their common largest score, which is stored in the
// total; if the part's factors are all 0, its values do not count.
struct ManyFactors {
  float total[kManyQueries], part[kManyQueries];
  bool part_counts;
};
void many_factors(int64_t queries, float* total, const float* part, ManyFactors& factors) {
  factors.part_counts = false;
  for (int64_t i = 0; i < queries; i += kLanes) {
    const F before = load(total + i), other = load(part + i);
    const F largest = max(before, other);
    const F offset = shift_of(largest);
    store(total + i, largest);
    store(factors.total + i, exp(before - offset));
    const F own = exp(other - offset);
    store(factors.part + i, own);
    factors.part_counts = factors.part_counts || any(~(own == set(0)));
  }
}
void many_fold(const AttentionArgs& a, int64_t queries, const ManyFactors& factors, float* total,
               const float* part) {
  for (int64_t i = 0; i < queries; i += kLanes) {
    const F c = load(factors.total + i), d = load(factors.part + i);
    float* sums = many_sums(total) + i;
    store(sums, load(sums) * c + load(part + kManyQueries + i) * d);
  }
  if (!factors.part_counts) return;
  in_panels(queries, [&](auto columns, int64_t panel) {
    constexpr int kColumns = decltype(columns)::value;
    const int64_t at = panel * kPanel;
    float* to = many_values(total, a, panel);
    const float* from = part + (to - total);
    for (int64_t d = 0; d < a.value_dim; ++d) {
      for (int c = 0; c < kColumns; ++c) {
        const int64_t i = d * kPanel + c * kLanes;
        store(to + i, fma(load(to + i), load(factors.total + at + c * kLanes),
                          load(from + i) * load(factors.part + at + c * kLanes)));
      }
    }
  });
}

// The range of a chunk that the vectors of a panel see: keys from `begin` to an end per vector. In
// a causal mask's last chunk, the first queries see little.
struct Panel {
  int64_t begin;
  int64_t ends[kPanelVectors];  // never less than the one before
};

Panel see_panel(const AttentionArgs& a, const ManyQueries& queries, int64_t first, KeyRange keys,
                Sight seen) {
  Panel panel = {keys.begin, {keys.end, keys.end}};
  if (seen != Sight::Part) return panel;
  const int64_t left = queries.count - first < kPanel ? queries.count - first : kPanel;
  const float* const* masks = queries.mask + first;
  const KeyRange all = visible(a, masks, left, keys);
  panel.begin = all.begin;
  int64_t end = all.begin;
  for (int c = 0; c < kPanelVectors; ++c) {
    const int64_t lanes = lanes_of(left, c * kLanes);
    if (lanes > 0) {
      const KeyRange own = visible(a, masks + c * kLanes, lanes, all);
      if (own.begin < own.end && own.end > end) end = own.end;
    }
    panel.ends[c] = end;
  }
  return panel;
}

// Calls step(number of vectors as a type, first vector, keys) for each run of keys seen by the same
// vectors: all of them, all but the first, ...
template <int kColumns, typename Step>
PIPPIN_VEC void in_segments(const Panel& panel, Step step) {
  step(Count<kColumns>(), 0, KeyRange{panel.begin, panel.ends[0]});
  if constexpr (kColumns > 1) {
    if (panel.ends[0] < panel.ends[1]) {
      step(Count<kColumns - 1>(), 1, KeyRange{panel.ends[0], panel.ends[1]});
    }
  }
}

// Like few_chunk; returns the factors if there is a total.
template <typename Stored>
void many_chunk(const AttentionArgs& a, const ManyQueries& queries, const ManyScratch& scratch,
                int64_t kv_head, int64_t chunk, Sight seen, float* part, float* total,
                ManyFactors& factors) {
  KeyRange keys = chunk_keys(a, chunk);
  Panel panels[kManyQueries / kPanel];
  in_panels(queries.count, [&](auto, int64_t panel) {
    panels[panel] = see_panel(a, queries, panel * kPanel, keys, seen);
  });
  if (seen == Sight::Part) keys = visible(a, queries.unique_mask, queries.masks, keys);
  const Floats all_keys = keys_in_floats<Stored>(a, kv_head, keys, scratch.cache);
  in_panels(queries.count, [&](auto columns, int64_t index) {
    constexpr int kColumns = decltype(columns)::value;
    const Panel& panel = panels[index];
    const int64_t count = panel.ends[kColumns - 1] - panel.begin;
    float* scores = scratch.scores + index * kChunk * kPanel;
    const float* q = scratch.q + index * a.head_dim * kPanel;
    in_segments<kColumns>(panel, [&](auto seeing, int64_t first, KeyRange segment) {
      const int64_t row = segment.begin - panel.begin;
      const int64_t length = segment.end - segment.begin;
      product<decltype(seeing)::value>(
          all_keys.data + (segment.begin - keys.begin) * all_keys.key_stride, all_keys.key_stride,
          all_keys.dim_stride, length, q + first * kLanes, a.head_dim,
          scores + row * kPanel + first * kLanes);
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
    many_softmax<kColumns>(scores, count, part + index * kPanel, many_sums(part) + index * kPanel);
  });
  if (total != nullptr) {
    many_factors(queries.count, total, part, factors);
    if (!factors.part_counts) return;
  }
  const Floats values = values_in_floats<Stored>(a, kv_head, keys, scratch.cache);
  in_panels(queries.count, [&](auto columns, int64_t index) {
    const Panel& panel = panels[index];
    const float* scores = scratch.scores + index * kChunk * kPanel;
    float* to = many_values(part, a, index);
    in_segments<decltype(columns)::value>(panel, [&](auto seeing, int64_t first, KeyRange segment) {
      constexpr int kSeeing = decltype(seeing)::value;
      const float* from = values.data + (segment.begin - keys.begin) * values.key_stride;
      const float* p = scores + (segment.begin - panel.begin) * kPanel + first * kLanes;
      const int64_t length = segment.end - segment.begin;
      if (first == 0) {
        product<kSeeing>(from, values.dim_stride, values.key_stride, a.value_dim, p, length, to);
      } else {
        product<kSeeing, true>(from, values.dim_stride, values.key_stride, a.value_dim, p, length,
                               to + first * kLanes);
      }
    });
  });
}

void write_out(const AttentionArgs& a, const ManyQueries& queries, float* total) {
  for (int64_t first = 0; first < queries.count; first += kLanes) {
    const int64_t lanes = lanes_of(queries.count, first);
    const float* column = many_values(total, a, first / kPanel) + first % kPanel;
    const F scale = set(1) / load(many_sums(total) + first);  // if nothing counted, 0 * inf is NaN
    float* const* out = queries.out + first;
    const bool by_row = a.out_dim_stride != 1 && evenly_spaced(out, lanes, 1);
    for (int64_t d = 0; d < a.value_dim; d += kLanes) {
      const int64_t left = a.value_dim - d < kLanes ? a.value_dim - d : kLanes;
      F x[kLanes];
      for (int64_t j = 0; j < kLanes; ++j) {
        x[j] = j < left ? load(column + (d + j) * kPanel) * scale : set(0);
      }
      if (by_row) {
        for (int64_t j = 0; j < left; ++j) {
          store_part(out[0] + (d + j) * a.out_dim_stride, x[j], lanes);
        }
        continue;
      }
      transpose(x);
      for (int64_t i = 0; i < lanes; ++i) {
        if (a.out_dim_stride == 1) {
          store_part(out[i] + d, x[i], left);
          continue;
        }
        float copy[kLanes];
        store(copy, x[i]);
        for (int64_t j = 0; j < left; ++j) out[i][(d + j) * a.out_dim_stride] = copy[j];
      }
    }
  }
}

template <typename Stored>
struct FloatProducts {
  static void pack(const AttentionArgs& a, const ManyQueries& queries, float* to) {
    pack_queries(a, queries, to);
  }
  static void chunk(const AttentionArgs& a, const ManyQueries& queries, const ManyScratch& scratch,
                    int64_t kv_head, int64_t chunk, Sight seen, float* part, float* total,
                    ManyFactors& factors) {
    many_chunk<Stored>(a, queries, scratch, kv_head, chunk, seen, part, total, factors);
  }
};

template <typename Products>
void many_queries(const AttentionArgs& a, const AttentionTask& task, float* memory) {
  const ManyQueries queries(a, task);
  const int64_t panels = (queries.count + kPanel - 1) / kPanel;
  const int64_t part_floats = kManyPartHeader + panels * kPanel * a.value_dim;
  const int64_t dims = a.head_dim > a.value_dim ? a.head_dim : a.value_dim;
  ManyScratch scratch;
  scratch.q = memory;
  scratch.cache = scratch.q + kManyQueries * a.head_dim;
  scratch.pairs = scratch.cache + kChunk * dims;
  scratch.scores = scratch.pairs + kPairRows * (dims + kPairsApart);
  scratch.total = scratch.scores + kManyQueries * kChunk;
  scratch.part = scratch.total + kManyPartHeader + kManyQueries * a.value_dim;
  const int64_t kv_head = task.head / (a.heads / a.kv_heads);
  if (task.kind != AttentionTask::Kind::Combine) Products::pack(a, queries, scratch.q);
  ManyFactors factors;
  const int64_t chunks = (a.keys + kChunk - 1) / kChunk;
  if (task.kind == AttentionTask::Kind::Chunks) {
    for (int64_t chunk = task.chunk_begin; chunk < task.chunk_end; ++chunk) {
      const Sight seen = sight(queries, chunk);
      if (seen == Sight::None) continue;
      Products::chunk(a, queries, scratch, kv_head, chunk, seen, task.parts + chunk * part_floats,
                      nullptr, factors);
    }
    return;
  }
  for (int64_t i = 0; i < kManyQueries; ++i) scratch.total[i] = -__builtin_inff();
  for (int64_t i = kManyQueries; i < part_floats; ++i) scratch.total[i] = 0;
  begin_with_sinks(a, task, queries, scratch.total, many_sums(scratch.total));
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const Sight seen = sight(queries, chunk);
    if (seen == Sight::None) continue;
    float* part = scratch.part;
    if (task.kind == AttentionTask::Kind::Combine) {
      part = task.parts + chunk * part_floats;
      many_factors(queries.count, scratch.total, part, factors);
    } else {
      Products::chunk(a, queries, scratch, kv_head, chunk, seen, part, scratch.total, factors);
    }
    many_fold(a, queries.count, factors, scratch.total, part);
  }
  write_out(a, queries, scratch.total);
}

}  // namespace
}  // namespace pippin::kernels
