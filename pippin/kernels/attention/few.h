// Attention of a few queries: decode. The lanes of a vector are elements of a head, or keys if an
// element's keys are contiguous; keys and values are read in place and used by all queries at hand
// while in registers.
//
// A part is [largest scores, sums, values of query 0, of query 1, ...].
#pragma once

#include "pippin/kernels/attention/codes.h"
#include "pippin/kernels/attention/tile.h"

namespace pippin::kernels {
namespace {

using FewQueries = Queries<kFewQueries>;

struct FewScratch {
  float* q;       // [queries, head_dim]
  float* scores;  // [queries, kChunk]
  float* total;   // a part
  float* part;    // another part
  // Of quantized caches: their scales [kChunk, groups], weights times scales [kRowTile, kChunk],
  // and the codes of a chunk as bytes [kChunk, dims].
  float* scales;
  float* weights;
  int8_t* codes;
  RoundedQueries rounded;
};

PIPPIN_VEC float* few_sums(float* part) {
  return part + kFewPartHeader / 2;
}
PIPPIN_VEC float* few_values(float* part, const AttentionArgs& a, int64_t query) {
  return part + kFewPartHeader + query * a.value_dim;
}

// Prefetches rows into the second-level cache: the first-level one cannot have that many requests
// in flight. Hardware does not follow well a stream that is read a chunk at a time, alternating
// with another.
struct Ahead {
  const char* next;    // the row `distance` rows later
  int64_t row_bytes;   // distance between rows
  int64_t used_bytes;  // per row
  int64_t distance;    // rows

  PIPPIN_VEC void prefetch(int64_t rows) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < used_bytes; i += 64) __builtin_prefetch(next + i, 0, 2);
      next += row_bytes;
    }
  }
};
constexpr int64_t kBytesAhead = 4096;

PIPPIN_VEC int64_t rows_ahead(int64_t used_bytes) {
  const int64_t rows = kBytesAhead / (used_bytes > 0 ? used_bytes : 1);
  return rows < 4 ? 4 : rows > 64 ? 64 : rows / 4 * 4;
}

template <typename Stored, int kRows>
void score_rows(const AttentionArgs& a, const float* q, float* scores,
                const typename Stored::Element* k, KeyRange keys, int64_t base, Ahead now,
                Ahead later) {
  const int64_t distance = now.distance;
  const F4 scale = set4(a.scale);
  for (int64_t key = keys.begin; key < keys.end; key += 4) {
    if (key + distance < keys.end) {
      now.prefetch(4);
    } else {
      later.prefetch(4);
    }
    const typename Stored::Element* rows[4];
    const int64_t last = keys.end - 1;
    for (int64_t i = 0; i < 4; ++i) {
      rows[i] = k + (key + i < last ? key + i : last) * a.k_key_stride;
    }
    F4 sums[kRows][1];
    multiply<Stored>(q, a.head_dim, rows, a.head_dim, {}, sums);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      float* to = scores + r * kChunk + (key - base);
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

// The inputs of a row of `to` for each query: the sum of `count` rows of a cache, each times a
// factor.
template <typename Element>
struct Mix {
  const float* factors;
  int64_t factors_stride;  // from one query to the next
  const Element* rows;
  int64_t row_stride, count, columns;
  float* to;
  int64_t to_stride;  // from one query to the next
};

struct Aheads {
  Ahead now, later;  // within the rows of the matrix, and after its end
};

// kColumns vectors from `column` on; `part` lanes of the last vector exist.
template <typename Stored, int kRows, int kColumns, bool kIsPart>
void mix_columns(const Mix<typename Stored::Element>& mix, int64_t column, int64_t part,
                 Aheads ahead) {
  F total[kRows][kColumns];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) total[r][c] = set(0);
  }
  const auto add = [&](int64_t i) {
    const typename Stored::Element* row = mix.rows + i * mix.row_stride + column;
    F loaded[kColumns];
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      loaded[c] =
          kIsPart ? Stored::load_part(row + c * kLanes, part) : Stored::load(row + c * kLanes);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const F factor = set(mix.factors[r * mix.factors_stride + i]);
#pragma GCC unroll 8
      for (int c = 0; c < kColumns; ++c) total[r][c] = fma(factor, loaded[c], total[r][c]);
    }
  };
  if (ahead.now.used_bytes == 0) {
    for (int64_t i = 0; i < mix.count; ++i) add(i);
  } else {
    int64_t i = 0;
    for (; i + ahead.now.distance < mix.count; ++i) {
      ahead.now.prefetch(1);
      add(i);
    }
    for (; i < mix.count; ++i) {
      ahead.later.prefetch(1);
      add(i);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < kColumns; ++c) {
      float* to = mix.to + r * mix.to_stride + column + c * kLanes;
      if (kIsPart) {
        store_part(to, total[r][c], part);
      } else {
        store(to, total[r][c]);
      }
    }
  }
}

// ahead(column, columns) returns what to prefetch while these columns are multiplied.
template <typename Stored, int kRows, typename AheadOf>
void mix_rows(const Mix<typename Stored::Element>& mix, const AheadOf& ahead) {
  constexpr int kMostColumns = kRows <= (kManyRegisters ? 2 : 1) ? 8 : 4;
  int64_t i = 0;
  for (; i + kMostColumns * kLanes <= mix.columns; i += kMostColumns * kLanes) {
    mix_columns<Stored, kRows, kMostColumns, false>(mix, i, 0, ahead(i, kMostColumns * kLanes));
  }
  for (; i + 4 * kLanes <= mix.columns; i += 4 * kLanes) {
    mix_columns<Stored, kRows, 4, false>(mix, i, 0, ahead(i, 4 * kLanes));
  }
  for (; i + kLanes <= mix.columns; i += kLanes) {
    mix_columns<Stored, kRows, 1, false>(mix, i, 0, ahead(i, kLanes));
  }
  if (i < mix.columns) {
    mix_columns<Stored, kRows, 1, true>(mix, i, mix.columns - i, ahead(i, kLanes));
  }
}

// Calls step(count as a type, first query) for runs of at most kRowTile queries.
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

// Scores of keys with codes, by queries [kRows, dims] in fp32.
template <int kRows>
void score_codes(const AttentionArgs& a, const float* q, float* scores, const Bytes& keys,
                 int64_t count, Ahead now, Ahead later) {
  const F4 scale = set4(a.scale);
  for (int64_t key = 0; key < count; key += 4) {
    if (key + now.distance < count) {
      now.prefetch(4);
    } else {
      later.prefetch(4);
    }
    const int8_t* rows[4];
    const float* scales[4];
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t row = key + i < count ? key + i : count - 1;
      rows[i] = keys.codes + row * keys.stride;
      scales[i] = keys.scales + row * keys.groups;
    }
    F4 total[kRows];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) total[r] = set4(0);
    for (int64_t g = 0; g < keys.groups; ++g) {
      F4 sums[kRows][1];
      multiply<StoredI8>(q + g * keys.group, a.head_dim, rows, keys.group, {}, sums);
      const float of_keys[4] = {scales[0][g], scales[1][g], scales[2][g], scales[3][g]};
      const F4 factors = load4(of_keys);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) total[r] = total[r] + sums[r][0] * factors;
      for (int64_t i = 0; i < 4; ++i) rows[i] += keys.group;
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      float copy[4];
      store4(copy, total[r] * scale);
      for (int64_t i = 0; i < 4 && key + i < count; ++i) scores[r * kChunk + key + i] = copy[i];
    }
  }
}

// Rows of `to` for kRows queries: sums of values with codes, each times its weight [kRows, kChunk].
template <int kRows>
void mix_codes(const float* weights, const Bytes& values, int64_t count, float* scaled, float* to,
               int64_t to_stride, Aheads ahead) {
  for (int64_t g = 0; g < values.groups; ++g) {
    for (int r = 0; r < kRows; ++r) {
      const float* from = weights + r * kChunk;
      const float* scales = values.scales + g;
      float* own = scaled + r * kChunk;
      for (int64_t i = 0; i < count; ++i) own[i] = from[i] * scales[i * values.groups];
    }
    mix_rows<StoredI8, kRows>(
        {scaled, kChunk, values.codes + g * values.group, values.stride, count, values.group,
         to + g * values.group, to_stride},
        [&](int64_t column, int64_t) { return g == 0 && column == 0 ? ahead : Aheads{}; });
  }
}

// Scores become exp(score - largest); stores the largest and the sums in the part. The score of a
// key is at its distance from `base`.
void few_softmax(const AttentionArgs& a, const FewQueries& queries, float* scores, float* part,
                 KeyRange keys, int64_t base, bool masked) {
  const float low = -__builtin_inff();
  const int64_t count = keys.end - base;
  for (int64_t query = 0; query < queries.count; ++query) {
    float* own = scores + query * kChunk;
    const float* mask = masked ? queries.mask[query] : nullptr;
    F largest = set(low);
    for (int64_t i = 0; i < keys.begin - base; ++i) own[i] = low;
    for (int64_t i = 0; i < count; i += kLanes) {
      const int64_t left = count - i;
      F score = load(own + i);
      if (a.softcap != 0) score = capped(score, a.softcap);
      if (mask != nullptr && a.mask_key_stride == 1) {
        const float* from = mask + base + i;
        score = score + (left >= kLanes ? load(from) : load_part(from, left));
      } else if (mask != nullptr) {
        float copy[kLanes] = {};
        for (int64_t j = 0; j < kLanes && j < left; ++j) {
          copy[j] = mask[(base + i + j) * a.mask_key_stride];
        }
        score = score + load(copy);
      }
      store(own + i, score);
      for (int64_t j = left; j < kLanes; ++j) own[i + j] = low;
      largest = max(left >= kLanes ? score : load(own + i), largest);  // ignores NaN
    }
    part[query] = max_lane(largest);
    const F offset = shift_of(set(part[query]));
    F total = set(0);
    for (int64_t i = 0; i < count; i += kLanes) {
      const F p = exp(load(own + i) - offset);
      store(own + i, p);
      total = total + p;
    }
    few_sums(part)[query] = sum(total);
  }
}

// The factors that bring a total and a part to their common largest score, which is stored in the
// total.
struct Factors {
  float total[kFewQueries + 16], part[kFewQueries + 16];
};
void few_factors(int64_t queries, float* total, const float* part, Factors& factors) {
  for (int64_t i = 0; i < queries; i += kLanes) {
    const F before = load(total + i), other = load(part + i);
    const F largest = max(before, other);
    const F offset = shift_of(largest);
    store(total + i, largest);
    store(factors.total + i, exp(before - offset));
    store(factors.part + i, exp(other - offset));
  }
}

void few_fold(const AttentionArgs& a, int64_t queries, const Factors& factors, float* total,
              const float* part) {
  for (int64_t query = 0; query < queries; ++query) {
    const F c = set(factors.total[query]), d = set(factors.part[query]);
    float* sums = few_sums(total);
    const float other = part[kFewPartHeader / 2 + query];
    sums[query] = sums[query] * factors.total[query] + other * factors.part[query];
    float* to = few_values(total, a, query);
    const float* from = part + kFewPartHeader + query * a.value_dim;
    int64_t i = 0;
    for (; i + kLanes <= a.value_dim; i += kLanes) {
      store(to + i, fma(load(to + i), c, load(from + i) * d));
    }
    if (i < a.value_dim) {
      const int64_t left = a.value_dim - i;
      store_part(to + i, fma(load_part(to + i, left), c, load_part(from + i, left) * d), left);
    }
  }
}

void few_clear(const AttentionArgs& a, int64_t queries, float* part) {
  for (int64_t i = 0; i < kFewPartHeader; ++i)
    part[i] = i < kFewPartHeader / 2 ? -__builtin_inff() : 0;
  for (int64_t i = 0; i < queries * a.value_dim; ++i) part[kFewPartHeader + i] = 0;
}

// Computes a chunk's part. With a total, updates its largest scores and returns false if all
// weights of the chunk are 0 next to it; then the part's values are not computed.
template <typename Stored>
bool few_chunk(const AttentionArgs& a, const FewQueries& queries, const FewScratch& scratch,
               int64_t kv_head, int64_t chunk, Sight seen, float* part, float* total,
               Factors& factors) {
  const auto* k = static_cast<const typename Stored::Element*>(a.k) + kv_head * a.k_head_stride;
  const auto* v = static_cast<const typename Stored::Element*>(a.v) + kv_head * a.v_head_stride;
  KeyRange keys = chunk_keys(a, chunk);
  const KeyRange whole = keys;
  if (seen == Sight::Part) keys = visible(a, queries.unique_mask, queries.masks, keys);
  // A key is in the same lane whatever else is visible.
  const int64_t base = keys.begin / kLanes * kLanes;
  const int64_t size = sizeof(typename Stored::Element);
  const auto row = [&](const typename Stored::Element* cache, int64_t stride, int64_t key) {
    return reinterpret_cast<const char*>(cache + key * stride);
  };
  const int64_t k_bytes = row_bytes<Stored>(a.head_dim), v_bytes = row_bytes<Stored>(a.value_dim);
  // Rows with codes are short: a whole chunk is prefetched while the other matrix is read.
  const int64_t k_distance = kHasCodes<Stored> ? kChunk : rows_ahead(k_bytes),
                v_distance = kHasCodes<Stored> ? kChunk : rows_ahead(v_bytes);
  Ahead k_now = {row(k, a.k_key_stride, keys.begin + k_distance), a.k_key_stride * size, k_bytes,
                 k_distance};
  Ahead v_first = {row(v, a.v_key_stride, keys.begin), a.v_key_stride * size, v_bytes, 0};
  Ahead v_now = {row(v, a.v_key_stride, keys.begin + v_distance), a.v_key_stride * size, v_bytes,
                 v_distance};
  Ahead k_next = {row(k, a.k_key_stride, whole.end), a.k_key_stride * size,
                  whole.end < a.keys && a.k_dim_stride == 1 ? k_bytes : 0, 0};
  const int64_t num_keys = keys.end - keys.begin;
  // If keys are contiguous, prefetches the next ones, of this chunk or the next, during the
  // multiplication.
  const auto next_keys = [&](int64_t key, int64_t count) {
    const int64_t next = keys.begin + key + count, left = a.keys - next;
    return Ahead{row(k, 1, next), a.k_dim_stride * size, (left < count ? left : count) * size, 0};
  };
  Bytes coded = {};
  if constexpr (kHasCodes<Stored>) {
    coded = bytes_of(coded_keys<typename Stored::Element>(a, kv_head).from(keys.begin), num_keys,
                     scratch.scales, scratch.codes);
  }
  in_row_tiles(queries.count, [&](auto count, int64_t query) {
    const float* q = scratch.q + query * a.head_dim;
    float* scores = scratch.scores + query * kChunk;
    if constexpr (kMayRound<Stored>) {
      if (a.may_round) {
        Stored::Products::template score<decltype(count)::value>(
            scratch.rounded.from(query, a.head_dim, coded.groups), scores + keys.begin - base,
            coded, a.head_dim, num_keys, v_first);
        v_first.used_bytes = 0;
        return;
      }
    }
    if constexpr (kHasCodes<Stored>) {
      score_codes<decltype(count)::value>(a, q, scores + keys.begin - base, coded, num_keys, k_now,
                                          v_first);
    } else if (a.k_dim_stride == 1) {
      score_rows<Stored, decltype(count)::value>(a, q, scores, k, keys, base, k_now, v_first);
    } else {
      mix_rows<Stored, decltype(count)::value>(
          {q, a.head_dim, k + keys.begin, a.k_dim_stride, a.head_dim, num_keys,
           scores + keys.begin - base, kChunk},
          [&](int64_t key, int64_t n) {
            return query == 0 ? Aheads{next_keys(key, n), {}} : Aheads{};
          });
    }
    k_now.used_bytes = v_first.used_bytes = 0;
  });
  few_softmax(a, queries, scratch.scores, part, keys, base, seen == Sight::Part);
  if (total != nullptr) {
    few_factors(queries.count, total, part, factors);
    bool counts = false;
    for (int64_t i = 0; i < queries.count; ++i) counts = counts || !(factors.part[i] == 0);
    if (!counts) return false;
  }
  if constexpr (kHasCodes<Stored>) {
    coded = bytes_of(coded_values<typename Stored::Element>(a, kv_head).from(keys.begin), num_keys,
                     scratch.scales, scratch.codes);
    in_row_tiles(queries.count, [&](auto count, int64_t query) {
      const float* weights = scratch.scores + query * kChunk + keys.begin - base;
      if constexpr (kMayRound<Stored>) {
        if (a.may_round && coded.group % 32 == 0) {
          Stored::Products::template mix<decltype(count)::value>(
              weights, coded, num_keys, few_values(part, a, query), a.value_dim, k_next);
          k_next.used_bytes = 0;
          return;
        }
      }
      mix_codes<decltype(count)::value>(weights, coded, num_keys, scratch.weights,
                                        few_values(part, a, query), a.value_dim, {v_now, k_next});
      v_now.used_bytes = k_next.used_bytes = 0;
    });
    return true;
  } else {
    in_row_tiles(queries.count, [&](auto count, int64_t query) {
      mix_rows<Stored, decltype(count)::value>(
          {scratch.scores + query * kChunk + keys.begin - base, kChunk,
           v + keys.begin * a.v_key_stride, a.v_key_stride, num_keys, a.value_dim,
           few_values(part, a, query), a.value_dim},
          [&](int64_t column, int64_t) {
            return column == 0 ? Aheads{v_now, k_next} : Aheads{};
          });
      v_now.used_bytes = k_next.used_bytes = 0;
    });
    return true;
  }
}

template <typename Stored>
void few_queries(const AttentionArgs& a, const AttentionTask& task, float* memory) {
  const FewQueries queries(a, task);
  FewScratch scratch;
  scratch.q = memory;
  scratch.scores = scratch.q + kFewQueries * a.head_dim;
  scratch.total = scratch.scores + kFewQueries * kChunk;
  scratch.part = scratch.total + kFewPartHeader + kFewQueries * a.value_dim;
  scratch.weights = scratch.part + kFewPartHeader + kFewQueries * a.value_dim;
  scratch.scales = scratch.weights + kRowTile * kChunk;
  scratch.codes = reinterpret_cast<int8_t*>(scratch.scales + kChunk * groups_of(a));
  const int64_t dims = a.head_dim > a.value_dim ? a.head_dim : a.value_dim;
  float* const rest = scratch.scales + kChunk * groups_of(a) + kChunk * dims / 4;
  scratch.rounded = {reinterpret_cast<int8_t*>(rest + 2 * kFewQueries * groups_of(a)), rest,
                     reinterpret_cast<int32_t*>(rest + kFewQueries * groups_of(a))};
  const int64_t kv_head = task.head / (a.heads / a.kv_heads);
  const int64_t part_floats = kFewPartHeader + queries.count * a.value_dim;
  if (task.kind != AttentionTask::Kind::Combine) {
    const float scale = a.k_dim_stride == 1 ? 1 : a.scale;  // score_rows() scales its sums
    for (int64_t i = 0; i < queries.count; ++i) {
      for (int64_t d = 0; d < a.head_dim; ++d) {
        scratch.q[i * a.head_dim + d] = queries.q[i][d * a.q_dim_stride] * scale;
      }
    }
    if constexpr (kMayRound<Stored>) {
      if (a.may_round) {
        round_queries(scratch.q, queries.count, a.head_dim, a.k_group, a.scale, scratch.rounded);
      }
    }
  }
  Factors factors;
  const int64_t chunks = (a.keys + kChunk - 1) / kChunk;
  if (task.kind == AttentionTask::Kind::Chunks) {
    for (int64_t chunk = task.chunk_begin; chunk < task.chunk_end; ++chunk) {
      const Sight seen = sight(queries, chunk);
      if (seen == Sight::None) continue;
      float* part = task.parts + chunk * part_floats;
      for (int64_t i = 0; i < kFewPartHeader; ++i) part[i] = 0;
      few_chunk<Stored>(a, queries, scratch, kv_head, chunk, seen, part, nullptr, factors);
    }
    return;
  }
  few_clear(a, queries.count, scratch.total);
  begin_with_sinks(a, task, queries, scratch.total, few_sums(scratch.total));
  for (int64_t i = 0; i < kFewPartHeader; ++i) scratch.part[i] = 0;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const Sight seen = sight(queries, chunk);
    if (seen == Sight::None) continue;
    const float* part = scratch.part;
    if (task.kind == AttentionTask::Kind::Combine) {
      part = task.parts + chunk * part_floats;
      few_factors(queries.count, scratch.total, part, factors);
    } else if (!few_chunk<Stored>(a, queries, scratch, kv_head, chunk, seen, scratch.part,
                                  scratch.total, factors)) {
      float* sums = few_sums(scratch.total);
      for (int64_t i = 0; i < queries.count; ++i) {
        sums[i] = sums[i] * factors.total[i] + few_sums(scratch.part)[i] * factors.part[i];
      }
      continue;
    }
    few_fold(a, queries.count, factors, scratch.total, part);
  }
  for (int64_t query = 0; query < queries.count; ++query) {
    const float scale = 1 / few_sums(scratch.total)[query];  // if nothing counted, 0 * inf is NaN
    const float* values = few_values(scratch.total, a, query);
    for (int64_t i = 0; i < a.value_dim; ++i) {
      queries.out[query][i * a.out_dim_stride] = values[i] * scale;
    }
  }
}

}  // namespace
}  // namespace pippin::kernels
