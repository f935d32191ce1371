// For tests of attention: random problems in every kind of cache, and the kernels that this machine
// can run.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/numbers/float16.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/kernels/attention/attention.h"
#include "pippin/kernels/attention/cache_codes.h"

namespace pippin::kernels::testing_attention {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kUntouched = -12345.0f;

struct Sizes {
  int64_t heads, kv_heads, rows, keys, head_dim, value_dim;
};

inline size_t at(int64_t index) {
  return static_cast<size_t>(index);
}

struct TestedKernel {
  AttentionKernel kernel;
  bool rounds;
};

// Random q, k, v, each in memory of its exact size; strides have gaps.
struct Problem {
  Problem(const TestedKernel& tested, const Sizes& wanted, uint32_t seed)
      : cache(tested.kernel.cache), may_round(tested.rounds), sizes(wanted) {
    if (cache == CacheType::Q4) {  // stores rows of an even number of values
      sizes.head_dim += sizes.head_dim % 2;
      sizes.value_dim += sizes.value_dim % 2;
    }
    const Sizes& s = sizes;
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    const auto fill = [&](std::vector<float>& values, int64_t count) {
      values.resize(at(count));
      for (float& value : values) value = normal(random);
    };
    fill(q, s.heads * s.rows * s.head_dim);
    fill(k, s.kv_heads * s.keys * (s.head_dim + 1));
    fill(v, s.kv_heads * s.keys * (s.value_dim + 2));
    out.assign(at(s.heads * s.rows * (s.value_dim + 1)), kUntouched);
    store();
  }

  // Call after changing k or v.
  void store() {
    if (has_codes(cache)) {
      k_coded = coded(k, sizes.head_dim, sizes.head_dim + 1);
      v_coded = coded(v, sizes.value_dim, sizes.value_dim + 2);
      return;
    }
    const auto convert = [this](const std::vector<float>& from, std::vector<uint16_t>& to) {
      to.resize(from.size());
      for (size_t i = 0; i < from.size(); ++i) {
        to[i] = cache == CacheType::BF16 ? to_bfloat16(from[i]).bits : to_float16(from[i]).bits;
      }
    };
    convert(k, k_half);
    convert(v, v_half);
  }

  // Rows of codes and of scales, with gaps.
  struct Coded {
    std::vector<uint8_t> codes;
    std::vector<uint16_t> scales;
    int64_t stride = 0, scale_stride = 0, group = 0;
  };
  Coded coded(const std::vector<float>& from, int64_t dims, int64_t row) const {
    Coded to;
    to.group = code_group(cache, dims);
    to.stride = code_bytes(cache, dims) + 3;
    to.scale_stride = dims / to.group + (dims % 3 == 0 ? 1 : 0);
    const int64_t rows = sizes.kv_heads * sizes.keys;
    to.codes.assign(at(rows * to.stride), 0xee);
    to.scales.assign(at(rows * to.scale_stride), 0x7e00);
    for (int64_t i = 0; i < rows; ++i) {
      write_codes(cache, &from[at(i * row)], dims, &to.codes[at(i * to.stride)],
                  &to.scales[at(i * to.scale_stride)]);
    }
    return to;
  }

  // Row r sees the keys up to keys - rows + r - empty, and of those the last `window`.
  void mask_causally(int64_t empty = 0, int64_t window = 1 << 30, float hidden = -kInf) {
    mask.assign(at(sizes.rows * sizes.keys), 0.0f);
    for (int64_t r = 0; r < sizes.rows; ++r) {
      const int64_t last = sizes.keys - sizes.rows + r - empty;
      for (int64_t key = 0; key < sizes.keys; ++key) {
        if (key > last || key <= last - window) mask[at(r * sizes.keys + key)] = hidden;
      }
    }
  }

  AttentionArgs args() {
    const Sizes& s = sizes;
    const bool half = cache != CacheType::F32;
    AttentionArgs a = {};
    a.may_round = may_round;
    a.q = q.data(), a.q_head_stride = s.head_dim, a.q_row_stride = s.heads * s.head_dim;
    a.q_dim_stride = a.k_dim_stride = a.v_dim_stride = a.out_dim_stride = 1;
    a.k = half ? static_cast<const void*>(k_half.data()) : k.data();
    a.k_key_stride = s.head_dim + 1, a.k_head_stride = s.keys * a.k_key_stride;
    a.v = half ? static_cast<const void*>(v_half.data()) : v.data();
    a.v_key_stride = s.value_dim + 2, a.v_head_stride = s.keys * a.v_key_stride;
    a.mask = mask.empty() ? nullptr : mask.data();
    a.mask_row_stride = s.keys, a.mask_key_stride = 1;
    a.out = out.data(), a.out_row_stride = s.value_dim + 1;
    a.out_head_stride = s.rows * a.out_row_stride;
    a.heads = s.heads, a.kv_heads = s.kv_heads, a.rows = s.rows, a.keys = s.keys;
    a.head_dim = s.head_dim, a.value_dim = s.value_dim;
    a.scale = 1 / std::sqrt(static_cast<float>(s.head_dim));
    if (!has_codes(cache)) return a;
    a.k = k_coded.codes.data(), a.k_key_stride = k_coded.stride;
    a.v = v_coded.codes.data(), a.v_key_stride = v_coded.stride;
    a.k_head_stride = s.keys * k_coded.stride, a.v_head_stride = s.keys * v_coded.stride;
    a.k_scales = k_coded.scales.data(), a.k_scale_key_stride = k_coded.scale_stride;
    a.v_scales = v_coded.scales.data(), a.v_scale_key_stride = v_coded.scale_stride;
    a.k_scale_head_stride = s.keys * k_coded.scale_stride;
    a.v_scale_head_stride = s.keys * v_coded.scale_stride;
    a.k_group = k_coded.group, a.v_group = v_coded.group;
    return a;
  }

  std::vector<float> run(const AttentionKernel& kernel, int threads = 1) {
    return run(kernel, args(), threads);
  }
  std::vector<float> run(const AttentionKernel& kernel, AttentionArgs a, int threads = 1) {
    ThreadPool pool(threads);
    return run(kernel, a, pool);
  }
  std::vector<float> run(const AttentionKernel& kernel, AttentionArgs a, ThreadPool& pool) {
    const int threads = pool.num_threads();
    const int64_t mask_heads = a.mask_head_stride == 0 ? 1 : a.heads;
    const int64_t chunks = mask_chunks(a.keys);
    std::vector<float> summary(at(mask_heads * a.rows * chunks * 2));
    if (a.mask != nullptr) {
      a.summary = summary.data();
      a.summary_row_stride = chunks * 2;
      a.summary_head_stride = a.mask_head_stride == 0 ? 0 : a.rows * chunks * 2;
      summarize_mask(pool,
                     {a.mask, a.mask_head_stride, a.mask_row_stride, a.mask_key_stride, mask_heads,
                      a.rows, a.keys, summary.data(), a.summary_head_stride, a.summary_row_stride});
    }
    const int64_t floats = attention_scratch_floats(a);
    std::vector<float> scratch(at(floats * threads), NAN);
    std::fill(out.begin(), out.end(), kUntouched);
    attention(pool, kernel, a, scratch.data(), floats);
    return out;
  }

  CacheType cache;
  bool may_round;
  Sizes sizes;
  std::vector<float> q, k, v, mask, out;
  std::vector<uint16_t> k_half, v_half;
  Coded k_coded, v_coded;
};

inline void expect_close_within(float tolerance, const std::vector<float>& result,
                                const std::vector<float>& expected) {
  ASSERT_EQ(result.size(), expected.size());
  for (size_t i = 0; i < result.size(); ++i) {
    if (std::isnan(expected[i])) {
      ASSERT_TRUE(std::isnan(result[i])) << "at " << i << ": " << result[i];
    } else {
      ASSERT_NEAR(result[i], expected[i], tolerance) << "at " << i;
    }
  }
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Those that round many queries a second time, with rounding allowed.
inline std::vector<TestedKernel> kernels_here() {
  std::vector<TestedKernel> kernels;
  for (const AttentionKernel& kernel : attention_kernels()) {
    if (!(detect_cpu().*kernel.needs)) continue;
    kernels.push_back({kernel, false});
    if (kernel.needs == &CpuFeatures::avx512bf16) kernels.push_back({kernel, true});
  }
  return kernels;
}

class Attention : public testing::TestWithParam<TestedKernel> {
 protected:
  const AttentionKernel& kernel() const { return GetParam().kernel; }
  float tolerance() const {
    if (!GetParam().rounds) return 2e-5f;
    return has_codes(kernel().cache) ? 0.1f : 0.05f;  // queries take 8 bits with codes
  }
  void expect_close(const std::vector<float>& result, const std::vector<float>& expected) const {
    expect_close_within(tolerance(), result, expected);
  }
  const AttentionKernel& reference() const { return choose_attention(kernel().cache, {}); }
};

// A few queries (decode) and many (prefill), full and partial chunks, groups of 1 to 30.
inline constexpr Sizes kSizes[] = {
    {1, 1, 1, 1, 1, 1},        {2, 2, 1, 3, 8, 8},        {4, 2, 1, 17, 16, 16},
    {8, 1, 1, 300, 64, 64},    {3, 1, 5, 33, 20, 12},     {6, 2, 7, 64, 80, 96},
    {30, 1, 2, 40, 17, 33},    {4, 4, 40, 257, 32, 70},   {8, 2, 30, 520, 64, 64},
    {14, 2, 4, 255, 128, 128}, {1, 1, 25, 256, 5, 131},   {2, 2, 1, 4100, 40, 40},
    {5, 1, 2, 513, 256, 256},  {7, 7, 1, 1030, 96, 80},   {2, 1, 64, 700, 128, 64},
    {140, 1, 2, 30, 8, 8},     {1, 1, 150, 150, 40, 20},  {2, 1, 6, 260, 256, 20},
    {3, 3, 4, 1000, 128, 128}, {16, 2, 1, 600, 128, 128}, {1, 1, 12, 12, 1, 1},
    {1, 1, 13, 13, 1, 1},      {12, 2, 33, 400, 20, 64},
};

}  // namespace pippin::kernels::testing_attention
