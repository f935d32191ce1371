// The common parts of attention's kernels, and the kernel for all views.
//
// A row's result does not depend on other rows, nor on the number of excluded keys after the last
// visible one: keys are taken in chunks that begin at multiples of the chunk's size.
#pragma once

#include "pippin/cuda/kernels/attention_args.h"
#include "pippin/cuda/kernels/blocks.cuh"

namespace pippin::cuda {

constexpr int kPlainChunk = 256;

// The element of a cache at `i`.
DEVICE float cache_number(const void* data, CacheType type, int64_t i) {
  if (type == CacheType::F32) return static_cast<const float*>(data)[i];
  const uint16_t bits = static_cast<const uint16_t*>(data)[i];
  return type == CacheType::F16 ? half_to_float(bits) : bfloat_to_float(bits);
}

DEVICE bool is_excluded(float mask) {
  return mask == -INFINITY;
}
// The score of a key from its product with the query; masks are added to it.
DEVICE float attention_score(const AttentionArgs& a, float product) {
  const float score = product * a.scale;
  return a.softcap == 0 ? score : a.softcap * tanhf(score * a.inverse_softcap);
}

// The softmax of a row so far: the largest score and the sum of exponentials next to it. NaN does
// not count as largest: it makes the sum NaN.
struct SoftmaxState {
  float top, sum;

  // The number subtracted from scores: 0 while nothing counts, so that exponentials are 0.
  DEVICE static float shift_of(float top) { return top == -INFINITY ? 0.0f : top; }
  DEVICE static SoftmaxState begin(const float* sinks, int head) {
    if (sinks == nullptr || sinks[head] == -INFINITY) return {-INFINITY, 0};
    return {sinks[head], expf(sinks[head] - sinks[head])};
  }
  // Returns the factor of earlier sums.
  DEVICE float raise(float other) {
    const float most = fmaxf(top, other);
    const float factor = expf(top - shift_of(most));
    top = most;
    sum *= factor;
    return factor;
  }
};

// A block for each row of each head. `shared`: head_dim + value_dim + kPlainChunk + 96 floats.
DEVICE void attention_plain_body(const AttentionArgs& a) {
  SHARED(shared);
  float* const q = reinterpret_cast<float*>(shared);
  float* const values = q + a.head_dim;
  float* const scores = values + a.value_dim;
  float* const exchange = scores + kPlainChunk;
  const int place = static_cast<int>(blockIdx.x), row = place % a.rows;
  const int head = place / a.rows % a.heads, batch = place / a.rows / a.heads;
  const int kv_head = head / (a.heads / a.kv_heads);
  const int thread = thread_index(), threads = block_threads(), warps = threads / 32;
  const int64_t q_begin = batch * a.q.batch_stride + head * a.q.head_stride + row * a.q.row_stride;
  const int64_t k_begin = batch * a.k.batch_stride + kv_head * a.k.head_stride;
  const int64_t v_begin = batch * a.v.batch_stride + kv_head * a.v.head_stride;
  const float* mask = nullptr;
  if (a.mask.data != nullptr) {
    mask = a.mask.data + batch * a.mask.batch_stride + head * a.mask.head_stride +
           row * a.mask.row_stride;
  }
  for (int i = thread; i < a.head_dim; i += threads) {
    q[i] = a.q.data[q_begin + i * a.q.column_stride];
  }
  for (int i = thread; i < a.value_dim; i += threads) values[i] = 0;
  SoftmaxState state = SoftmaxState::begin(a.sinks, head);
  for (int first = 0; first < a.keys; first += kPlainChunk) {
    const int count = min(kPlainChunk, a.keys - first);
    barrier();
    bool is_seen = false;
    for (int i = thread; i < count; i += threads) {
      const float own = mask == nullptr ? 0.0f : mask[(first + i) * a.mask.column_stride];
      scores[i] = own;
      is_seen = is_seen || !is_excluded(own);
    }
    if (!block_any(is_seen, exchange)) continue;
    const auto product = [&](int key, int from, int step) {
      const int64_t begin = k_begin + key * a.k.row_stride;
      float sum = 0;
      for (int i = from; i < a.head_dim; i += step) {
        sum += q[i] * cache_number(a.k.data, a.cache, begin + i * a.k.column_stride);
      }
      return sum;
    };
    if (a.k.row_stride == 1) {  // an element's keys are side by side
      for (int i = thread; i < count; i += threads) {
        if (is_excluded(scores[i])) continue;
        scores[i] += attention_score(a, product(first + i, 0, 1));
      }
    } else {
      for (int i = warp_index(); i < count; i += warps) {
        const float own = scores[i];
        if (is_excluded(own)) continue;
        const float sum = warp_sum(product(first + i, lane_index(), 32));
        if (lane_index() == 0) scores[i] = own + attention_score(a, sum);
      }
    }
    barrier();
    float top = -INFINITY, sum = 0;
    for (int i = thread; i < count; i += threads) top = fmaxf(top, scores[i]);
    const float factor = state.raise(block_largest(top, exchange + 32));
    const float shift = SoftmaxState::shift_of(state.top);
    for (int i = thread; i < count; i += threads) {
      const float weight = expf(scores[i] - shift);
      scores[i] = weight;
      sum += weight;
    }
    state.sum += block_sum(sum, exchange + 64);
    const auto mix = [&](int column, int from, int step) {
      const int64_t begin = v_begin + column * a.v.column_stride;
      float total = 0;
      for (int i = from; i < count; i += step) {
        if (scores[i] == 0) continue;
        total += scores[i] * cache_number(a.v.data, a.cache, begin + (first + i) * a.v.row_stride);
      }
      return total;
    };
    if (a.v.row_stride == 1 && a.v.column_stride != 1) {
      for (int i = warp_index(); i < a.value_dim; i += warps) {
        const float total = warp_sum(mix(i, lane_index(), 32));
        if (lane_index() == 0) values[i] = values[i] * factor + total;
      }
    } else {
      for (int i = thread; i < a.value_dim; i += threads) {
        values[i] = values[i] * factor + mix(i, 0, 1);
      }
    }
  }
  barrier();
  float* out =
      a.out.data + batch * a.out.batch_stride + head * a.out.head_stride + row * a.out.row_stride;
  for (int i = thread; i < a.value_dim; i += threads) {
    out[i * a.out.column_stride] = fast_divide(values[i], state.sum);
  }
}

}  // namespace pippin::cuda
