#include "pippin/kernels/quantized_dot/avx512vnni_bytes.h"
// Must come first: the headers below use these bytes.
#include "pippin/kernels/ggml_blocks/vector_dot_row.h"

namespace pippin::kernels {
namespace {

// A type's kLess: the excess of its codes over the true ones, as a shift: 128 >> kLess; -1: none.
template <typename Type, int kAt>
PIPPIN_VEC void chunk_sums(const uint8_t* const (&p)[4], const QuantizedRows& x, int64_t column,
                           I (&sums)[32 / Type::kUnit]) {
  constexpr int kSums = 32 / Type::kUnit;
  Chunk<AffineBytes, true, Type::kUnit> chunk;
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    B sets[2];
    Type::template codes<kAt>(p[c], sets);
    chunk.weights[c][0][0][0] = sets[0];
    chunk.weights[c][1][0][0] = sets[1];
  }
  const int8_t* values = x.values + column;
  if constexpr (kSums == 1) {
    sums[0] = join_fours(chunk.template multiply_sets<1>(0, values),
                         chunk.template multiply_sets<1>(1, values));
  } else {
#pragma GCC unroll 2
    for (int e = 0; e < kSums; ++e) sums[e] = chunk.template multiply_sets<1>(e, values);
  }
  if constexpr (Type::kLess >= 0) {
    const int32_t* starts = x.starts + column / Type::kUnit * 4;
#pragma GCC unroll 2
    for (int e = 0; e < kSums; ++e) {
      sums[e] = sums[e] + shift_right_signed<Type::kLess>(load_i(starts + e * kLanes));
    }
  }
}

PIPPIN_VEC __m128i load_16(const uint8_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
PIPPIN_VEC __m512i load_32_twice(const uint8_t* p) {
  return _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
// 16 bytes of each of four rows.
PIPPIN_VEC __m512i load_fours(const uint8_t* const (&p)[4], int64_t at) {
  __m512i x = _mm512_castsi128_si512(load_16(p[0] + at));
  x = _mm512_inserti32x4(x, load_16(p[1] + at), 1);
  x = _mm512_inserti32x4(x, load_16(p[2] + at), 2);
  return _mm512_inserti32x4(x, load_16(p[3] + at), 3);
}
// 16-bit lanes: `low` in the first half, `high` in the second.
PIPPIN_VEC __m512i two_counts(int16_t low, int16_t high) {
  return _mm512_inserti64x4(_mm512_set1_epi16(low), _mm256_set1_epi16(high), 1);
}
PIPPIN_VEC __m512i low_bits(__m512i x, int mask) {
  return _mm512_and_si512(x, _mm512_set1_epi8(static_cast<char>(mask)));
}
// low | (high & mask)
PIPPIN_VEC __m512i join_bits(__m512i low, __m512i high, int mask) {
  constexpr int kOrAnd = 0xf8;
  return _mm512_ternarylogic_epi32(low, high, _mm512_set1_epi8(static_cast<char>(mask)), kOrAnd);
}
// Lane 4q + r, for rows r and units q: 16 r + q.
PIPPIN_VEC __m512i unit_bytes() {
  return _mm512_set_epi32(51, 35, 19, 3, 50, 34, 18, 2, 49, 33, 17, 1, 48, 32, 16, 0);
}
// Word `word` of the 16 bytes of row r as an fp16 number in the lanes 4q + r.
template <int kWord>
PIPPIN_VEC F half_of_rows(__m512i x) {
  const __m512i index = _mm512_broadcast_i64x4(_mm256_set1_epi64x(
      kWord | (8LL + kWord) << 16 | (16LL + kWord) << 32 | (24LL + kWord) << 48));
  return {_mm512_cvtph_ps(_mm512_castsi512_si256(_mm512_permutexvar_epi16(index, x)))};
}
PIPPIN_VEC F unsigned_bytes(__m512i bytes, int first) {
  const __m512i index = _mm512_add_epi32(unit_bytes(), _mm512_set1_epi32(first));
  return {_mm512_cvtepi32_ps(_mm512_maskz_permutexvar_epi8(0x1111111111111111, index, bytes))};
}
PIPPIN_VEC F signed_bytes(__m512i bytes, int first) {
  const __m512i index =
      _mm512_slli_epi32(_mm512_add_epi32(unit_bytes(), _mm512_set1_epi32(first)), 24);
  const __m512i high = _mm512_maskz_permutexvar_epi8(0x8888888888888888, index, bytes);
  return {_mm512_cvtepi32_ps(_mm512_srai_epi32(high, 24))};
}

// Q4_K and Q5_K: fp16 scales of 8 scales and 8 minima of 6 bits in 12 bytes.
struct KScales {
  static constexpr int64_t kStep = 256, kUnit = 32;
  static constexpr int kLess = -1;
  static constexpr bool kOffsets = true;
  using Numbers = ScaleLanes<2>;
  static PIPPIN_VEC void load(const uint8_t* const (&p)[4], Numbers& numbers) {
    // The last three of each row's four words, as: scales 0 to 3, 4 to 7, minima 0 to 3, 4 to 7.
    const __m512i words = load_fours(p, 0);
    const __m512i low = _mm512_srlv_epi32(_mm512_shuffle_epi32(words, _MM_PERM_ENUM(0xed)),
                                          _mm512_set4_epi32(4, 0, 0, 0));
    const __m512i high = _mm512_srli_epi32(_mm512_shuffle_epi32(words, _MM_PERM_ENUM(0x84)), 2);
    const __m512i bytes = _mm512_or_si512(
        _mm512_and_si512(low, _mm512_set4_epi32(0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f)),
        _mm512_and_si512(high, _mm512_set4_epi32(0x30303030, 0, 0x30303030, 0)));
    const F scale = half_of_rows<0>(words), least = half_of_rows<1>(words);
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      numbers.scale[i] = unsigned_bytes(bytes, 4 * i) * scale;
      numbers.offset[i] = unsigned_bytes(bytes, 8 + 4 * i) * least;
    }
  }
};

struct Q4K : KScales {
  static constexpr int64_t kBytes = 144;
  template <int kAt>
  static PIPPIN_VEC void codes(const uint8_t* p, B (&sets)[2]) {
#pragma GCC unroll 2
    for (int s = 0; s < 2; ++s) {
      const __m512i pairs = load_32_twice(p + 16 + 64 * kAt + 32 * s);
      sets[s] = {low_bits(_mm512_srlv_epi16(pairs, two_counts(0, 4)), 15)};
    }
  }
};

struct Q5K : KScales {
  static constexpr int64_t kBytes = 176;
  template <int kAt>
  static PIPPIN_VEC void codes(const uint8_t* p, B (&sets)[2]) {
    const __m512i high = load_32_twice(p + 16);
#pragma GCC unroll 2
    for (int s = 0; s < 2; ++s) {
      const __m512i pairs = load_32_twice(p + 48 + 64 * kAt + 32 * s);
      const __m512i low = low_bits(_mm512_srlv_epi16(pairs, two_counts(0, 4)), 15);
      // Moves bits 4 at + 2 s and the next one to bit 4.
      const auto less = static_cast<int16_t>(2 * s);
      const __m512i fifth =
          kAt == 0 ? _mm512_sllv_epi16(high, two_counts(static_cast<int16_t>(4 - less),
                                                        static_cast<int16_t>(3 - less)))
                   : _mm512_srlv_epi16(high, two_counts(less, static_cast<int16_t>(1 + less)));
      sets[s] = {join_bits(low, fifth, 16)};
    }
  }
};

struct Q6K {
  static constexpr int64_t kStep = 256, kUnit = 16, kBytes = 210;
  static constexpr int kLess = 2;  // 32
  static constexpr bool kOffsets = false;
  using Numbers = ScaleLanes<4>;
  static PIPPIN_VEC void load(const uint8_t* const (&p)[4], Numbers& numbers) {
    const __m512i bytes = load_fours(p, 192);
    const F scale = half_of_rows<7>(load_fours(p, 194));
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) numbers.scale[i] = signed_bytes(bytes, 4 * i) * scale;
  }
  template <int kAt>
  static PIPPIN_VEC void codes(const uint8_t* p, B (&sets)[2]) {
    const __m512i pairs = _mm512_loadu_si512(p + 64 * kAt);
    const __m512i high = load_32_twice(p + 128 + 32 * kAt);
    sets[0] = {join_bits(low_bits(pairs, 15), _mm512_sllv_epi16(high, two_counts(4, 2)), 0x30)};
    sets[1] = {join_bits(low_bits(_mm512_srli_epi16(pairs, 4), 15),
                         _mm512_srlv_epi16(high, two_counts(0, 2)), 0x30)};
  }
};

// Types of 32 columns; four blocks are processed at once. Their fp16 numbers are among the 32 words
// from the beginning and the 32 words from byte kLater on.
template <int64_t kBlockBytes>
struct FourBlocks {
  static constexpr int64_t kStep = 128, kUnit = 32, kBytes = 4 * kBlockBytes;
  using Numbers = ScaleLanes<1>;
  static constexpr int64_t kLater = kBytes < 128 ? kBytes - 64 : 64;

  // The words at which the blocks begin, for the lanes 4q + row.
  static PIPPIN_VEC __m512i first_words(int row) {
    alignas(64) int16_t index[32] = {};
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) {
      const int64_t at = q * kBlockBytes;
      index[4 * q + row] = static_cast<int16_t>(at <= 62 ? at / 2 : 32 + (at - kLater) / 2);
    }
    return _mm512_load_si512(index);
  }

  // Blocks begin with their scale.
  static constexpr bool kOffsets = false;
  static PIPPIN_VEC void load(const uint8_t* const (&p)[4], Numbers& numbers) {
    __m512i words = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (int row = 0; row < 4; ++row) {
      const __mmask32 lanes = 0x1111u << row;
      words = _mm512_or_si512(words, _mm512_maskz_permutex2var_epi16(
                                         lanes, _mm512_loadu_si512(p[row]), first_words(row),
                                         _mm512_loadu_si512(p[row] + kLater)));
    }
    numbers.scale[0] = {_mm512_cvtph_ps(_mm512_castsi512_si256(words))};
  }
};

struct Q40 : FourBlocks<18> {
  static constexpr int kLess = 4;  // 8
  template <int kAt>
  static PIPPIN_VEC void codes(const uint8_t* p, B (&sets)[2]) {
#pragma GCC unroll 2
    for (int s = 0; s < 2; ++s) {
      // Loads each block's 16 bytes twice, the second time for their high halves.
      const __m256i first = _mm256_broadcastsi128_si256(load_16(p + 36 * s + 2));
      const __m256i second = _mm256_broadcastsi128_si256(load_16(p + 36 * s + 20));
      const __m512i pairs = _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
      const __m512i counts = _mm512_broadcast_i64x4(
          _mm256_inserti128_si256(_mm256_setzero_si256(), _mm_set1_epi16(4), 1));
      sets[s] = {low_bits(_mm512_srlv_epi16(pairs, counts), 15)};
    }
  }
};

struct Q80 : FourBlocks<34> {
  static constexpr int kLess = 0;  // 128
  template <int kAt>
  static PIPPIN_VEC void codes(const uint8_t* p, B (&sets)[2]) {
#pragma GCC unroll 2
    for (int s = 0; s < 2; ++s) {
      const auto* blocks = reinterpret_cast<const char*>(p) + 68 * s;
      const __m512i first =
          _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(blocks + 2)));
      sets[s] =
          flip({_mm512_inserti64x4(
                   first, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(blocks + 36)), 1)},
               0x80);
    }
  }
};

bool dot_one_row(const GgmlDotArgs& args) noexcept {
  switch (args.w->type) {
    case GgmlType::Q80:
      return dot_row<Q80>(args);
    case GgmlType::Q40:
      return dot_row<Q40>(args);
    case GgmlType::Q4K:
      return dot_row<Q4K>(args);
    case GgmlType::Q5K:
      return dot_row<Q5K>(args);
    case GgmlType::Q6K:
      return dot_row<Q6K>(args);
    default:
      return false;
  }
}

void unpack(GgmlType type, const UnpackArgs& args) noexcept {
  ggml_blocks_avx2.unpack(type, args);
}

}  // namespace

const GgmlBlockKernels ggml_blocks_avx512vnni = {"ggml_blocks_avx512vnni", unpack, dot_one_row};

}  // namespace pippin::kernels
