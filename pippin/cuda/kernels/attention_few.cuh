// Attention of a few rows: blocks for parts of the keys, and a kernel that combines the parts.
//
// All queries that share a head of keys are computed together. Threads of a block: 16 groups of
// `key_lanes`; a group has 16 bytes of a key and of its values in each lane, and takes the keys
// group, group + 16, ... of the chunk, which are all loaded at once.
#pragma once

#include "pippin/cuda/kernels/attention.cuh"

namespace pippin::cuda {

constexpr int kFewGroups = 16;
constexpr int kFewPasses = kFewChunk / kFewGroups;

struct StoredFloats {
  static constexpr int kCount = 4;  // in 16 bytes
  DEVICE static void expand(uint4 bits, float (&to)[4]) {
    to[0] = bits_to_float(bits.x);
    to[1] = bits_to_float(bits.y);
    to[2] = bits_to_float(bits.z);
    to[3] = bits_to_float(bits.w);
  }
};
struct StoredHalves {
  static constexpr int kCount = 8;
  DEVICE static void expand(uint4 bits, float (&to)[8]) {
    const uint32_t words[4] = {bits.x, bits.y, bits.z, bits.w};
    UNROLL
    for (int i = 0; i < 4; ++i) {
      to[2 * i] = half_to_float(static_cast<uint16_t>(words[i]));
      to[2 * i + 1] = half_to_float(static_cast<uint16_t>(words[i] >> 16));
    }
  }
};
struct StoredBfloats {
  static constexpr int kCount = 8;
  DEVICE static void expand(uint4 bits, float (&to)[8]) {
    const uint32_t words[4] = {bits.x, bits.y, bits.z, bits.w};
    UNROLL
    for (int i = 0; i < 4; ++i) {
      to[2 * i] = bits_to_float(words[i] << 16);
      to[2 * i + 1] = bits_to_float(words[i] & 0xffff0000u);
    }
  }
};

// The sums over a group's lanes of eight numbers of each lane: lane l gets that with the index
// whose bits are the highest three of l, in order (of 16 lanes, lanes 0 and 1 get number 0).
DEVICE float sum_of_eight(float (&v)[8], int lanes) {
  int mask = lanes / 2;
  UNROLL
  for (int half = 4; half > 0; half /= 2, mask /= 2) {
    const bool is_upper = (lane_index() & mask) != 0;
    UNROLL
    for (int i = 0; i < half; ++i) {
      const float other = across_lanes(is_upper ? v[i] : v[i + half], mask);
      v[i] = (is_upper ? v[i + half] : v[i]) + other;
    }
  }
  for (; mask > 0; mask /= 2) v[0] += across_lanes(v[0], mask);
  return v[0];
}

DEVICE void store_few(float* to, const float (&v)[4]) {
  *reinterpret_cast<float4*>(to) = make_float4(v[0], v[1], v[2], v[3]);
}
DEVICE void store_few(float* to, const float (&v)[8]) {
  reinterpret_cast<float4*>(to)[0] = make_float4(v[0], v[1], v[2], v[3]);
  reinterpret_cast<float4*>(to)[1] = make_float4(v[4], v[5], v[6], v[7]);
}

// `shared`: kQueries * (kFewChunk + 2 + columns * max(1, warps / 2)) + 32 floats, where columns is
// the number of elements of a group.
template <typename Stored, int kQueries>
DEVICE void attend_few(const FewAttentionArgs& few) {
  SHARED(shared);
  constexpr int kCount = Stored::kCount;
  constexpr int kTogether = kQueries < 2 ? kQueries : 2;  // queries whose scores are held at once
  const AttentionArgs& a = few.attention;
  const int chunk = static_cast<int>(blockIdx.z), first = chunk * kFewChunk;
  if (first >= a.keys) return;
  const int thread = thread_index(), lane = lane_index(), warp = warp_index();
  const int threads = block_threads(), warps = threads / 32;
  const int columns = few.key_lanes * kCount;
  float* const scores = reinterpret_cast<float*>(shared);  // [kQueries, kFewChunk]
  float* const tops = scores + kQueries * kFewChunk;
  float* const sums = tops + kQueries;
  float* const exchange = sums + kQueries;
  float* const q = exchange + 32;  // [kQueries, columns]
  float* const values = q;         // [warps / 2, kQueries, columns], later

  const int tile = static_cast<int>(blockIdx.x) % few.tiles;
  const int kv_head = static_cast<int>(blockIdx.x) / few.tiles % a.kv_heads;
  const int batch = static_cast<int>(blockIdx.x) / few.tiles / a.kv_heads;
  const int share = a.heads / a.kv_heads;
  const int first_query = tile * kQueries;
  const int queries = min(kQueries, share * a.rows - first_query);
  const auto head_of = [&](int i) { return kv_head * share + (first_query + i) % share; };
  const auto row_of = [&](int i) { return (first_query + i) / share; };
  const auto part_of = [&](int i) {
    const int64_t query = (static_cast<int64_t>(batch) * a.heads + head_of(i)) * a.rows + row_of(i);
    return query * few.chunks + chunk;
  };
  const int64_t parts = static_cast<int64_t>(a.batch) * a.heads * a.rows * few.chunks;
  const int count = min(kFewChunk, a.keys - first);

  if (a.mask.data != nullptr) {
    bool is_seen = false;
    for (int i = thread; i < queries * kFewChunk; i += threads) {
      const int query = i / kFewChunk, key = i % kFewChunk;
      float own = -INFINITY;
      if (key < count) {
        own = a.mask.data[batch * a.mask.batch_stride + head_of(query) * a.mask.head_stride +
                          row_of(query) * a.mask.row_stride + (first + key) * a.mask.column_stride];
      }
      scores[i] = own;
      is_seen = is_seen || !is_excluded(own);
    }
    if (!block_any(is_seen, exchange) && few.parts != nullptr) {
      if (thread < queries) {
        float* const state = few.parts + parts * a.value_dim + 2 * part_of(thread);
        state[0] = -INFINITY;
        state[1] = 0;
      }
      return;
    }
  }

  const int group = thread / few.key_lanes, own = thread % few.key_lanes * kCount;
  uint4 k[kFewPasses], v[kFewPasses];
  const auto load = [&](const AttentionView<const void>& cache, int size, uint4(&to)[kFewPasses]) {
    constexpr int kBytes = 16 / kCount;
    const int64_t begin = batch * cache.batch_stride + kv_head * cache.head_stride +
                          (first + group) * cache.row_stride + own;
    const auto* from = static_cast<const unsigned char*>(cache.data) + begin * kBytes;
    UNROLL
    for (int i = 0; i < kFewPasses; ++i) {
      to[i] = make_uint4(0, 0, 0, 0);
      if (own < size && i * kFewGroups + group < count) {
        to[i] = load_stream(
            reinterpret_cast<const uint4*>(from + i * (kFewGroups * kBytes) * cache.row_stride));
      }
    }
  };
  load(a.k, a.head_dim, k);
  load(a.v, a.value_dim, v);
  for (int i = thread; i < kQueries * columns; i += threads) {
    const int query = i / columns, column = i % columns;
    float x = 0;
    if (query < queries && column < a.head_dim) {
      x = a.q.data[batch * a.q.batch_stride + head_of(query) * a.q.head_stride +
                   row_of(query) * a.q.row_stride + column * a.q.column_stride];
    }
    q[i] = x;
  }
  barrier();

  UNROLL
  for (int query = 0; query < kQueries; query += kTogether) {
    if (query >= queries) break;
    float products[kTogether][kFewPasses], of_query[kTogether][kCount];
    UNROLL
    for (int i = 0; i < kTogether; ++i) {
      UNROLL
      for (int j = 0; j < kCount; ++j) of_query[i][j] = q[(query + i) * columns + own + j];
    }
    UNROLL
    for (int pass = 0; pass < kFewPasses; ++pass) {
      float of_key[kCount];
      Stored::expand(k[pass], of_key);
      UNROLL
      for (int i = 0; i < kTogether; ++i) {
        float sum = 0;
        UNROLL
        for (int j = 0; j < kCount; ++j) sum += of_query[i][j] * of_key[j];
        products[i][pass] = sum;
      }
    }
    UNROLL
    for (int i = 0; i < kTogether; ++i) {
      const float product = sum_of_eight(products[i], few.key_lanes);
      const int in_group = lane & (few.key_lanes - 1), each = few.key_lanes / kFewPasses;
      const int key = in_group / each * kFewGroups + group;
      if (in_group % each != 0) continue;
      float& score = scores[(query + i) * kFewChunk + key];
      if (key >= count) {
        score = -INFINITY;
      } else if (a.mask.data == nullptr) {
        score = attention_score(a, product);
      } else if (query + i < queries && !is_excluded(score)) {
        score += attention_score(a, product);
      }
    }
  }
  barrier();
  for (int query = warp; query < queries; query += warps) {
    float* const of_query = scores + query * kFewChunk;
    constexpr int kKeys = kFewChunk / 32;
    float weights[kKeys], top = -INFINITY, sum = 0;
    UNROLL
    for (int i = 0; i < kKeys; ++i) {
      weights[i] = of_query[i * 32 + lane];
      top = fmaxf(top, weights[i]);
    }
    top = warp_largest(top);
    const float shift = SoftmaxState::shift_of(top);
    UNROLL
    for (int i = 0; i < kKeys; ++i) {
      const float weight = expf(weights[i] - shift);
      of_query[i * 32 + lane] = weight;
      sum += weight;
    }
    sum = warp_sum(sum);
    if (lane == 0) {
      tops[query] = top;
      sums[query] = sum;
    }
  }
  barrier();

  float totals[kQueries][kCount];
  UNROLL
  for (int query = 0; query < kQueries; ++query) {
    UNROLL
    for (int j = 0; j < kCount; ++j) totals[query][j] = 0;
  }
  UNROLL
  for (int pass = 0; pass < kFewPasses; ++pass) {
    float of_key[kCount];
    Stored::expand(v[pass], of_key);
    UNROLL
    for (int query = 0; query < kQueries; ++query) {
      const float weight = scores[query * kFewChunk + pass * kFewGroups + group];
      if (query >= queries || weight == 0) continue;  // values of excluded keys may be anything
      UNROLL
      for (int j = 0; j < kCount; ++j) totals[query][j] += weight * of_key[j];
    }
  }
  for (int mask = few.key_lanes; mask < 32; mask *= 2) {
    UNROLL
    for (int query = 0; query < kQueries; ++query) {
      UNROLL
      for (int j = 0; j < kCount; ++j) {
        totals[query][j] += across_lanes(totals[query][j], mask);
      }
    }
  }
  for (int half = warps / 2; half > 0; half /= 2) {
    if (warp >= half && warp < 2 * half && lane < few.key_lanes) {
      UNROLL
      for (int query = 0; query < kQueries; ++query) {
        store_few(values + ((warp - half) * kQueries + query) * columns + own, totals[query]);
      }
    }
    barrier();
    if (warp < half && lane < few.key_lanes) {
      UNROLL
      for (int query = 0; query < kQueries; ++query) {
        const float* const other = values + (warp * kQueries + query) * columns + own;
        UNROLL
        for (int j = 0; j < kCount; ++j) totals[query][j] += other[j];
      }
    }
    barrier();
  }
  if (thread >= few.key_lanes || own >= a.value_dim) return;
  UNROLL
  for (int query = 0; query < kQueries; ++query) {
    if (query >= queries) break;
    if (few.parts != nullptr) {
      const int64_t part = part_of(query);
      store_few(few.parts + part * a.value_dim + own, totals[query]);
      if (thread == 0) {
        float* const state = few.parts + parts * a.value_dim + 2 * part;
        state[0] = tops[query];
        state[1] = sums[query];
      }
      continue;
    }
    SoftmaxState state = SoftmaxState::begin(a.sinks, head_of(query));
    state.raise(tops[query]);
    const float factor = expf(tops[query] - SoftmaxState::shift_of(state.top));
    float sum = 0;  // as combine_attention() adds one part
    sum += sums[query] * factor;
    sum += state.sum;
    float* const out = a.out.data + batch * a.out.batch_stride +
                       head_of(query) * a.out.head_stride + row_of(query) * a.out.row_stride;
    UNROLL
    for (int j = 0; j < kCount; ++j) {
      out[(own + j) * a.out.column_stride] = fast_divide(totals[query][j] * factor, sum);
    }
  }
}

// A block for each query. `shared`: chunks + 64 floats.
DEVICE void combine_attention_body(const FewAttentionArgs& few) {
  SHARED(shared);
  const AttentionArgs& a = few.attention;
  float* const exchange = reinterpret_cast<float*>(shared);
  float* const factors = exchange + 64;
  const int64_t query = blockIdx.x, first = query * few.chunks;
  const int row = static_cast<int>(query % a.rows),
            head = static_cast<int>(query / a.rows % a.heads);
  const int batch = static_cast<int>(query / a.rows / a.heads);
  const int64_t parts = static_cast<int64_t>(a.batch) * a.heads * a.rows * few.chunks;
  const float* const states = few.parts + parts * a.value_dim + 2 * first;
  float top = -INFINITY;
  for (int i = thread_index(); i < few.chunks; i += block_threads()) {
    factors[i] = states[2 * i];
    top = fmaxf(top, states[2 * i]);
  }
  top = block_largest(top, exchange);
  SoftmaxState state = SoftmaxState::begin(a.sinks, head);
  state.raise(top);
  const float shift = SoftmaxState::shift_of(state.top);
  float sum = 0;
  for (int i = thread_index(); i < few.chunks; i += block_threads()) {
    const float factor = expf(factors[i] - shift);
    factors[i] = factor;
    sum += states[2 * i + 1] * factor;
  }
  sum = block_sum(sum, exchange + 32) + state.sum;
  const float* const values = few.parts + first * a.value_dim;
  float* const out =
      a.out.data + batch * a.out.batch_stride + head * a.out.head_stride + row * a.out.row_stride;
  for (int i = thread_index(); i < a.value_dim; i += block_threads()) {
    float total = 0;
    UNROLL_BY(4)
    for (int part = 0; part < few.chunks; ++part) {
      if (factors[part] == 0) continue;  // it may have written no values
      total += factors[part] * values[static_cast<int64_t>(part) * a.value_dim + i];
    }
    out[i * a.out.column_stride] = fast_divide(total, sum);
  }
}

#define PIPPIN_FEW_ATTENTION(name, Stored, queries)            \
  DEVICE void name##_body(const FewAttentionArgs& arguments) { \
    attend_few<Stored, queries>(arguments);                    \
  }
PIPPIN_FEW_ATTENTION(attention_1_f32, StoredFloats, 1)
PIPPIN_FEW_ATTENTION(attention_4_f32, StoredFloats, 4)
PIPPIN_FEW_ATTENTION(attention_8_f32, StoredFloats, 8)
PIPPIN_FEW_ATTENTION(attention_1_f16, StoredHalves, 1)
PIPPIN_FEW_ATTENTION(attention_4_f16, StoredHalves, 4)
PIPPIN_FEW_ATTENTION(attention_8_f16, StoredHalves, 8)
PIPPIN_FEW_ATTENTION(attention_1_bf16, StoredBfloats, 1)
PIPPIN_FEW_ATTENTION(attention_4_bf16, StoredBfloats, 4)
PIPPIN_FEW_ATTENTION(attention_8_bf16, StoredBfloats, 8)
#undef PIPPIN_FEW_ATTENTION

}  // namespace pippin::cuda
