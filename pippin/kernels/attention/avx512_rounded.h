// Products of rounded queries and weights with the codes of quantized caches, in integers, by
// AVX-512 VNNI.
//
// Scores: a group's codes plus 128 times those of a query, 64 bytes at a time (vpdpbusd), less 128
// times the query's sum. Values: weights times scales are rounded to 15 bits and a sign for all
// keys of a chunk, and multiplied two keys at a time (vpdpwssd):
//
//   row of key 0   a0 a1 a2 ...  as 16-bit numbers   a0 b0 a1 b1 a2 b2 ...  times  w0 w1 w0 w1 ...
//   row of key 1   b0 b1 b2 ...
//
// A chunk's sum is at most 256 * 32767 * 127, so it fits into 32 bits.
#pragma once

#include "pippin/kernels/attention/codes.h"

namespace pippin::kernels {
namespace {

// The sums over the lanes of a, b, c and d.
PIPPIN_VEC __m128i sum4_i(__m512i a, __m512i b, __m512i c, __m512i d) {
  const __m512i ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
  const __m512i cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
  const __m512i sum =
      _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
  const __m256i half =
      _mm256_add_epi32(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64(sum, 1));
  return _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

PIPPIN_VEC __mmask64 first_bytes(int64_t n) {
  return n >= 64 ? ~__mmask64{0} : (__mmask64{1} << n) - 1;
}

struct Avx512Products {
  template <int kRows>
  static void score(const RoundedQueries& q, float* scores, const Bytes& keys, int64_t dims,
                    int64_t count, Ahead later) {
    const __m512i bias = _mm512_set1_epi8(static_cast<char>(0x80));
    for (int64_t key = 0; key < count; key += 4) {
      later.prefetch(4);
      const int8_t* rows[4];
      const float* scales[4];
      for (int64_t i = 0; i < 4; ++i) {
        const int64_t row = key + i < count ? key + i : count - 1;
        rows[i] = keys.codes + row * keys.stride;
        scales[i] = keys.scales + row * keys.groups;
      }
      __m128 total[kRows];
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) total[r] = _mm_setzero_ps();
      for (int64_t g = 0; g < keys.groups; ++g) {
        __m512i sums[kRows][4];
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
          for (int i = 0; i < 4; ++i) sums[r][i] = _mm512_setzero_si512();
        }
        for (int64_t d = 0; d < keys.group; d += 64) {
          const __mmask64 mask = first_bytes(keys.group - d);
          __m512i codes[4];
#pragma GCC unroll 4
          for (int i = 0; i < 4; ++i) {
            codes[i] = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, rows[i] + d), bias);
          }
#pragma GCC unroll 8
          for (int r = 0; r < kRows; ++r) {
            const __m512i x =
                _mm512_maskz_loadu_epi8(mask, q.codes + r * dims + g * keys.group + d);
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) {
              sums[r][i] = _mm512_dpbusd_epi32(sums[r][i], codes[i], x);
            }
          }
        }
        const __m128 of_keys = _mm_setr_ps(scales[0][g], scales[1][g], scales[2][g], scales[3][g]);
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
          const int64_t place = r * keys.groups + g;
          const __m128i sum = _mm_sub_epi32(sum4_i(sums[r][0], sums[r][1], sums[r][2], sums[r][3]),
                                            _mm_set1_epi32(128 * q.sums[place]));
          total[r] = _mm_fmadd_ps(_mm_mul_ps(_mm_cvtepi32_ps(sum), of_keys),
                                  _mm_set1_ps(q.scales[place]), total[r]);
        }
        for (int64_t i = 0; i < 4; ++i) rows[i] += keys.group;
      }
      const int64_t left = count - key;
      const auto mask = static_cast<__mmask8>(left >= 4 ? 15 : (1 << left) - 1);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        _mm_mask_storeu_ps(scores + r * kChunk + key, mask, total[r]);
      }
    }
  }

  // The weights of a query times the scales of a group, as 16-bit numbers; returns their scale.
  static float round_weights(const float* weights, const Bytes& values, int64_t g, int64_t count,
                             int16_t* to) {
    float products[kChunk];
    F largest = set(0), same = set(0);
    for (int64_t i = 0; i < count; ++i)
      products[i] = weights[i] * values.scales[i * values.groups + g];
    for (int64_t i = count; i % kLanes != 0; ++i) products[i] = 0;
    for (int64_t i = 0; i < count; i += kLanes) {
      const F x = load(products + i);
      largest = max(x, largest);  // ignores NaN
      same = same + x;
    }
    const float most = max_lane(largest), total = sum(same);
    if (!(total <= 3.0e38f)) return __builtin_nanf("");
    const F inverse = set(most > 1e-30f ? 32767 / most : 0);
    for (int64_t i = 0; i < count; i += kLanes) {
      const __m512i rounded = to_int(load(products + i) * inverse).v;
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm512_cvtepi32_epi16(rounded));
    }
    return most / 32767;
  }

  template <int kRows>
  static void mix(const float* weights, const Bytes& values, int64_t count, float* to,
                  int64_t to_stride, Ahead later) {
    int16_t rounded[kRows][kChunk];
    float scales[kRows];
    const __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
    const __m512i second =
        _mm512_setr_epi32(8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31);
    for (int64_t g = 0; g < values.groups; ++g) {
      for (int r = 0; r < kRows; ++r) {
        scales[r] = round_weights(weights + r * kChunk, values, g, count, rounded[r]);
        if (count % 2 != 0) rounded[r][count] = 0;
      }
      for (int64_t column = g * values.group; column < (g + 1) * values.group; column += 32) {
        __m512i sums[kRows][2];
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) sums[r][0] = sums[r][1] = _mm512_setzero_si512();
        const int8_t* row = values.codes + column;
        for (int64_t i = 0; i < count; i += 2, row += 2 * values.stride) {
          if (column == 0) later.prefetch(2);
          const int8_t* next = i + 1 < count ? row + values.stride : row;
          const __m512i a =
              _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(row)));
          const __m512i b =
              _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(next)));
          const __m512i low = _mm512_unpacklo_epi16(a, b), high = _mm512_unpackhi_epi16(a, b);
#pragma GCC unroll 8
          for (int r = 0; r < kRows; ++r) {
            int32_t pair;
            __builtin_memcpy(&pair, &rounded[r][i], sizeof(pair));
            const __m512i both = _mm512_set1_epi32(pair);
            sums[r][0] = _mm512_dpwssd_epi32(sums[r][0], low, both);
            sums[r][1] = _mm512_dpwssd_epi32(sums[r][1], high, both);
          }
        }
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) {
          const F scale = set(scales[r]);
          const I left = {_mm512_permutex2var_epi32(sums[r][0], first, sums[r][1])};
          const I right = {_mm512_permutex2var_epi32(sums[r][0], second, sums[r][1])};
          store(to + r * to_stride + column, to_float(left) * scale);
          store(to + r * to_stride + column + kLanes, to_float(right) * scale);
        }
      }
    }
  }
};

struct StoredQ8Rounded : StoredQ8 {
  using Products = Avx512Products;
};
struct StoredQ4Rounded : StoredQ4 {
  using Products = Avx512Products;
};

}  // namespace
}  // namespace pippin::kernels
