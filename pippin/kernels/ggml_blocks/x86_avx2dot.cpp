#include "pippin/kernels/quantized_dot/avx2_products.h"
// Must come first: the headers below use these bytes.
#include "pippin/kernels/ggml_blocks/avx2_dot.h"
#include "pippin/kernels/ggml_blocks/code_tables.h"
#include "pippin/kernels/ggml_blocks/vector_dot_row.h"

// A chunk is 64 columns of a row in two registers of bytes. If units have 32 columns, the halves of
// the first register are columns 0 to 15 of its two units and those of the second columns 16 to 31,
// the order of most types; if they have 16, columns are in order. In both cases the halves of sums
// belong to different units.
//
// A type also defines
//   codes     the two registers: kSigned or not
//   kLess     the excess of unsigned codes over the true ones
//   kMost     the maximum magnitude of the true codes
namespace pippin::kernels {
namespace {

PIPPIN_VEC __m128i load_16(const uint8_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
PIPPIN_VEC __m256i load_32(const uint8_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
PIPPIN_VEC __m256i two_of_16(const uint8_t* low, const uint8_t* high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(load_16(low)), load_16(high), 1);
}
PIPPIN_VEC __m256i masked(__m256i x, int mask) {
  return _mm256_and_si256(x, _mm256_set1_epi8(static_cast<char>(mask)));
}
PIPPIN_VEC __m256i joined(__m256i a, __m256i b) {
  return _mm256_or_si256(a, b);
}
// Shifts bits of 16-bit lanes to the right, or to the left by -n; bits that cross bytes are masked
// afterwards.
template <int kBits>
PIPPIN_VEC __m256i moved(__m256i x) {
  if constexpr (kBits >= 0) {
    return _mm256_srli_epi16(x, kBits);
  } else {
    return _mm256_slli_epi16(x, -kBits);
  }
}

// ---- products

PIPPIN_VEC __m256i add_16(__m256i a, __m256i b) {
  return _mm256_add_epi16(a, b);
}
PIPPIN_VEC __m256i add_32(__m256i a, __m256i b) {
  return _mm256_add_epi32(a, b);
}
// Whether a 16-bit lane holds the sum of that many products with codes of at most `most`.
constexpr bool fits_16(int products, int most) {
  return products * most * 127 < 1 << 15;
}

// s[row] becomes, in each half, the sums of rows 0, 1, 2, 3. kProducts are in a 16-bit lane.
template <int kMost, int kProducts>
PIPPIN_VEC I add_rows(const __m256i (&s)[4]) {
  static_assert(fits_16(2 * kProducts, kMost));
  const __m256i first =
      add_16(_mm256_unpacklo_epi32(s[0], s[1]), _mm256_unpackhi_epi32(s[0], s[1]));
  const __m256i second =
      add_16(_mm256_unpacklo_epi32(s[2], s[3]), _mm256_unpackhi_epi32(s[2], s[3]));
  const __m256i low = _mm256_unpacklo_epi64(first, second);
  const __m256i high = _mm256_unpackhi_epi64(first, second);
  if constexpr (fits_16(4 * kProducts, kMost)) {
    return {add_pairs(add_16(low, high))};
  } else {
    return {add_32(add_pairs(low), add_pairs(high))};
  }
}
// The same for 32-bit lanes.
PIPPIN_VEC I add_rows(const __m256i (&s)[4]) {
  const __m256i first =
      add_32(_mm256_unpacklo_epi32(s[0], s[1]), _mm256_unpackhi_epi32(s[0], s[1]));
  const __m256i second =
      add_32(_mm256_unpacklo_epi32(s[2], s[3]), _mm256_unpackhi_epi32(s[2], s[3]));
  return {add_32(_mm256_unpacklo_epi64(first, second), _mm256_unpackhi_epi64(first, second))};
}

PIPPIN_VEC __m256i signed_products(__m256i codes, __m256i x) {
  return _mm256_maddubs_epi16(_mm256_abs_epi8(codes), _mm256_sign_epi8(x, codes));
}

template <typename Type, int kAt>
PIPPIN_VEC void chunk_sums(const uint8_t* const (&p)[4], const QuantizedRows& x, int64_t column,
                           I (&sums)[32 / Type::kUnit]) {
  const __m256i first = load_bytes(x.values + column).v;
  const __m256i second = load_bytes(x.values + column + 32).v;
  __m256i s[4];
  if constexpr (Type::kUnit == 32) {
    const __m256i low = _mm256_permute2x128_si256(first, second, 0x20);
    const __m256i high = _mm256_permute2x128_si256(first, second, 0x31);
    if constexpr (Type::kSigned) {
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) {
        __m256i codes[2];
        Type::template codes<kAt>(p[c], codes);
        s[c] = add_32(add_pairs(signed_products(codes[0], low)),
                      add_pairs(signed_products(codes[1], high)));
      }
      sums[0] = add_rows(s);
    } else {
      const __m256i less = _mm256_set1_epi8(Type::kLess);
      const __m256i above =
          add_16(_mm256_maddubs_epi16(less, low), _mm256_maddubs_epi16(less, high));
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) {
        __m256i codes[2];
        Type::template codes<kAt>(p[c], codes);
        s[c] = add_16(_mm256_maddubs_epi16(codes[0], low), _mm256_maddubs_epi16(codes[1], high));
        if constexpr (Type::kLess != 0) s[c] = _mm256_sub_epi16(s[c], above);
      }
      sums[0] = add_rows<Type::kMost, 4>(s);
    }
  } else {
    const __m256i less = _mm256_set1_epi8(Type::kLess);
    const __m256i first_above = _mm256_maddubs_epi16(less, first);
    const __m256i second_above = _mm256_maddubs_epi16(less, second);
    __m256i later[4];
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      __m256i codes[2];
      Type::template codes<kAt>(p[c], codes);
      s[c] = _mm256_maddubs_epi16(codes[0], first);
      later[c] = _mm256_maddubs_epi16(codes[1], second);
      if constexpr (Type::kLess != 0) {
        s[c] = _mm256_sub_epi16(s[c], first_above);
        later[c] = _mm256_sub_epi16(later[c], second_above);
      }
    }
    sums[0] = add_rows<Type::kMost, 2>(s);
    sums[1] = add_rows<Type::kMost, 2>(later);
  }
}

// ---- scales of four rows

PIPPIN_VEC int half_bits(const uint8_t* p) {
  uint16_t bits;
  __builtin_memcpy(&bits, p, sizeof(bits));
  return bits;
}
// The fp16 numbers at `first` of each row, then those at `second`.
PIPPIN_VEC F halves(const uint8_t* const (&p)[4], int64_t first, int64_t second) {
  __m128i x = _mm_cvtsi32_si128(half_bits(p[0] + first));
  x = _mm_insert_epi16(x, half_bits(p[1] + first), 1);
  x = _mm_insert_epi16(x, half_bits(p[2] + first), 2);
  x = _mm_insert_epi16(x, half_bits(p[3] + first), 3);
  if (second == first) {
    x = _mm_unpacklo_epi64(x, x);
  } else {
    x = _mm_insert_epi16(x, half_bits(p[0] + second), 4);
    x = _mm_insert_epi16(x, half_bits(p[1] + second), 5);
    x = _mm_insert_epi16(x, half_bits(p[2] + second), 6);
    x = _mm_insert_epi16(x, half_bits(p[3] + second), 7);
  }
  return {_mm256_cvtph_ps(x)};
}
PIPPIN_VEC F negated(F x) {
  return {_mm256_xor_ps(x.v, _mm256_set1_ps(-0.0F))};
}

// Word i of each row; a row's words are in one register.
struct Words {
  __m128i of[4];
};
PIPPIN_VEC Words words_of(__m128i row0, __m128i row1, __m128i row2, __m128i row3) {
  const __m128i low01 = _mm_unpacklo_epi32(row0, row1), high01 = _mm_unpackhi_epi32(row0, row1);
  const __m128i low23 = _mm_unpacklo_epi32(row2, row3), high23 = _mm_unpackhi_epi32(row2, row3);
  return {{_mm_unpacklo_epi64(low01, low23), _mm_unpackhi_epi64(low01, low23),
           _mm_unpacklo_epi64(high01, high23), _mm_unpackhi_epi64(high01, high23)}};
}
PIPPIN_VEC Words words_at(const uint8_t* const (&p)[4], int64_t at) {
  return words_of(load_16(p[0] + at), load_16(p[1] + at), load_16(p[2] + at), load_16(p[3] + at));
}
// The low or high fp16 numbers of a word, twice.
PIPPIN_VEC F low_halves(__m128i word) {
  return {_mm256_cvtph_ps(
      _mm_shuffle_epi8(word, _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 0, 1, 4, 5, 8, 9, 12, 13)))};
}
PIPPIN_VEC F high_halves(__m128i word) {
  return low_halves(_mm_srli_epi32(word, 16));
}
PIPPIN_VEC __m128i masked(__m128i x, int mask) {
  return _mm_and_si128(x, _mm_set1_epi8(static_cast<char>(mask)));
}
// Scales of four units, a byte of a word each, times the rows' scales: two registers.
template <bool kSignedLevels = false>
PIPPIN_VEC void scale_levels(__m128i word, int32_t less, F scale, F* out) {
  const __m128i by_unit =
      _mm_shuffle_epi8(word, _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  const __m128i later = _mm_srli_si128(by_unit, 8);
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    const __m128i bytes = i == 0 ? by_unit : later;
    const __m256i levels =
        kSignedLevels ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
    out[i] = to_float(I{levels} - set_i(less)) * scale;
  }
}

// ---- types of 32 columns; two blocks are processed at once

template <int64_t kBlockBytes, int64_t kCodesAt>
struct TwoBlocks {
  static constexpr int64_t kStep = 64, kUnit = 32, kBlock = kBlockBytes, kBytes = 2 * kBlockBytes;
  static constexpr bool kOffsets = false, kSigned = false;
  static constexpr int kLess = 0;
  using Numbers = ScaleLanes<1>;
  static PIPPIN_VEC void load(const uint8_t* const (&p)[4], Numbers& numbers) {
    numbers.scale[0] = halves(p, 0, kBlock);
  }
  static PIPPIN_VEC void nibbles(const uint8_t* p, __m256i (&sets)[2]) {
    const __m256i pairs = two_of_16(p + kCodesAt, p + kBlock + kCodesAt);
    sets[0] = masked(pairs, 15);
    sets[1] = masked(moved<4>(pairs), 15);
  }
};
template <int64_t kBlockBytes, int64_t kCodesAt>
struct TwoOffsetBlocks : TwoBlocks<kBlockBytes, kCodesAt> {
  static constexpr bool kOffsets = true;
  using Numbers = ScaleLanes<1>;
  static PIPPIN_VEC void load(const uint8_t* const (&p)[4], Numbers& numbers) {
    numbers.scale[0] = halves(p, 0, kBlockBytes);
    numbers.offset[0] = negated(halves(p, 2, kBlockBytes + 2));
  }
};

struct Q40 : TwoBlocks<18, 2> {
  static constexpr int kLess = 8, kMost = 8;
  template <int kAt>
  static PIPPIN_VEC void codes(const uint8_t* p, __m256i (&sets)[2]) {
    nibbles(p, sets);
  }
};

struct Q41 : TwoOffsetBlocks<20, 4> {
  static constexpr int kMost = 15;
  template <int kAt>
  static PIPPIN_VEC void codes(const uint8_t* p, __m256i (&sets)[2]) {
    nibbles(p, sets);
  }
};

// Maps 32 bits of each of two blocks to 16 where they are set.
PIPPIN_VEC void add_fifth_bits(const uint8_t* first, const uint8_t* second, __m256i (&sets)[2]) {
  int32_t low, high;
  __builtin_memcpy(&low, first, sizeof(low));
  __builtin_memcpy(&high, second, sizeof(high));
  const __m256i bits = _mm256_inserti128_si256(_mm256_set1_epi32(low), _mm_set1_epi32(high), 1);
  const __m256i places = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    const auto byte = 0x0101010101010101 * (2 * i);
    const __m256i index =
        _mm256_setr_epi64x(byte, byte + 0x0101010101010101, byte, byte + 0x0101010101010101);
    const __m256i own = _mm256_and_si256(_mm256_shuffle_epi8(bits, index), places);
    sets[i] = joined(sets[i], masked(_mm256_cmpeq_epi8(own, places), 16));
  }
}

struct Q50 : TwoBlocks<22, 6> {
  static constexpr int kLess = 16, kMost = 16;
  template <int kAt>
  static PIPPIN_VEC void codes(const uint8_t* p, __m256i (&sets)[2]) {
    nibbles(p, sets);
    add_fifth_bits(p + 2, p + kBlock + 2, sets);
  }
};

struct Q51 : TwoOffsetBlocks<24, 8> {
  static constexpr int kMost = 31;
  template <int kAt>
  static PIPPIN_VEC void codes(const uint8_t* p, __m256i (&sets)[2]) {
    nibbles(p, sets);
    add_fifth_bits(p + 4, p + kBlock + 4, sets);
  }
};

struct Q80 : TwoBlocks<34, 2> {
  static constexpr bool kSigned = true;
  template <int kAt>
  static PIPPIN_VEC void codes(const uint8_t* p, __m256i (&sets)[2]) {
    sets[0] = two_of_16(p + 2, p + kBlock + 2);
    sets[1] = two_of_16(p + 18, p + kBlock + 18);
  }
};

PIPPIN_VEC void look_up(const int8_t (&table)[16], __m256i (&sets)[2]) {
  const __m256i entries = repeat16(reinterpret_cast<const uint8_t*>(table)).v;
  sets[0] = _mm256_shuffle_epi8(entries, sets[0]);
  sets[1] = _mm256_shuffle_epi8(entries, sets[1]);
}

struct Iq4Nl : TwoBlocks<18, 2> {
  static constexpr bool kSigned = true;
  template <int kAt>
  static PIPPIN_VEC void codes(const uint8_t* p, __m256i (&sets)[2]) {
    nibbles(p, sets);
    look_up(kNonlinear, sets);
  }
};

struct Mxfp4 : TwoBlocks<17, 1> {
  static constexpr int kLess = 12, kMost = 12;
  static PIPPIN_VEC void load(const uint8_t* const (&p)[4], Numbers& numbers) {
    const __m128i bytes = _mm_setr_epi8(
        static_cast<char>(p[0][0]), static_cast<char>(p[1][0]), static_cast<char>(p[2][0]),
        static_cast<char>(p[3][0]), static_cast<char>(p[0][17]), static_cast<char>(p[1][17]),
        static_cast<char>(p[2][17]), static_cast<char>(p[3][17]), 0, 0, 0, 0, 0, 0, 0, 0);
    // 2^(byte - 128); the two smallest are not normal numbers.
    const __m256i exponent = _mm256_cvtepu8_epi32(bytes);
    const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(exponent, set_i(1).v), 23);
    const __m256i small = _mm256_sllv_epi32(set_i(0x200000).v, exponent);
    const __m256i is_normal = _mm256_cmpgt_epi32(exponent, set_i(1).v);
    numbers.scale[0] = floats(I{_mm256_blendv_epi8(small, normal, is_normal)});
  }
  template <int kAt>
  static PIPPIN_VEC void codes(const uint8_t* p, __m256i (&sets)[2]) {
    nibbles(p, sets);
    look_up(kDoubledE2m1, sets);
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) sets[i] = _mm256_add_epi8(sets[i], _mm256_set1_epi8(kLess));
  }
};

// ---- types of 256 columns

struct Iq4Xs {
  static constexpr int64_t kStep = 256, kUnit = 32, kBytes = 136;
  static constexpr bool kOffsets = false, kSigned = true;
  using Numbers = ScaleLanes<4>;
  static PIPPIN_VEC void load(const uint8_t* const (&p)[4], Numbers& numbers) {
    // Words: scale and the levels' high pairs; their low halves.
    const auto eight = [](const uint8_t* from) __attribute__((always_inline)) {
      return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    };
    const Words words = words_of(eight(p[0]), eight(p[1]), eight(p[2]), eight(p[3]));
    const F scale = low_halves(words.of[0]);
    const __m128i tops = _mm_srli_epi32(words.of[0], 16);
    const __m128i even = masked(words.of[1], 15);
    const __m128i odd = masked(_mm_srli_epi32(words.of[1], 4), 15);
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      // For units 4 half to 4 half + 3: two bytes of the low halves, a byte of the pairs.
      const auto unit = static_cast<char>(2 * half), pairs = static_cast<char>(half);
      const __m128i own =
          _mm_setr_epi8(unit, -1, static_cast<char>(unit + 1), -1, static_cast<char>(unit + 4), -1,
                        static_cast<char>(unit + 5), -1, static_cast<char>(unit + 8), -1,
                        static_cast<char>(unit + 9), -1, static_cast<char>(unit + 12), -1,
                        static_cast<char>(unit + 13), -1);
      const __m128i low =
          _mm_or_si128(_mm_shuffle_epi8(even, own), _mm_slli_epi16(_mm_shuffle_epi8(odd, own), 8));
      const auto c4 = static_cast<char>(pairs + 4), c8 = static_cast<char>(pairs + 8),
                 c12 = static_cast<char>(pairs + 12);
      const __m128i byte =
          _mm_shuffle_epi8(tops, _mm_setr_epi8(pairs, pairs, pairs, pairs, c4, c4, c4, c4, c8, c8,
                                               c8, c8, c12, c12, c12, c12));
      // Moves the pair of byte i of a word to bits 4 and 5.
      const __m128i first = _mm_and_si128(_mm_slli_epi16(byte, 4), _mm_set1_epi32(0x00000030));
      const __m128i second = _mm_and_si128(_mm_slli_epi16(byte, 2), _mm_set1_epi32(0x00003000));
      const __m128i third = _mm_and_si128(byte, _mm_set1_epi32(0x00300000));
      const __m128i fourth = _mm_and_si128(_mm_srli_epi16(byte, 2), _mm_set1_epi32(0x30000000));
      const __m128i high = _mm_or_si128(_mm_or_si128(first, second), _mm_or_si128(third, fourth));
      scale_levels(_mm_or_si128(low, high), 32, scale, numbers.scale + 2 * half);
    }
  }
  template <int kAt>
  static PIPPIN_VEC void codes(const uint8_t* p, __m256i (&sets)[2]) {
    const __m256i pairs = load_32(p + 8 + 32 * kAt);
    sets[0] = masked(pairs, 15);
    sets[1] = masked(moved<4>(pairs), 15);
    look_up(kNonlinear, sets);
  }
};

// Q4_K and Q5_K: fp16 scales of 8 scales and 8 minima of 6 bits in 12 bytes.
struct KScales {
  static constexpr int64_t kStep = 256, kUnit = 32;
  static constexpr bool kOffsets = true, kSigned = false;
  static constexpr int kLess = 0;
  using Numbers = ScaleLanes<4>;
  static PIPPIN_VEC void load(const uint8_t* const (&p)[4], Numbers& numbers) {
    const Words words = words_at(p, 0);
    const F scale = low_halves(words.of[0]), least = high_halves(words.of[0]);
    const __m128i factors = words.of[1], minima = words.of[2], rest = words.of[3];
    const auto top = [](__m128i word) __attribute__((always_inline)) {
      return masked(_mm_srli_epi32(word, 2), 0x30);
    };
    scale_levels(masked(factors, 63), 0, scale, numbers.scale);
    scale_levels(_mm_or_si128(masked(rest, 15), top(factors)), 0, scale, numbers.scale + 2);
    scale_levels(masked(minima, 63), 0, least, numbers.offset);
    scale_levels(_mm_or_si128(masked(_mm_srli_epi32(rest, 4), 15), top(minima)), 0, least,
                 numbers.offset + 2);
  }
  // 16 bytes whose low halves are the first unit's codes.
  static PIPPIN_VEC __m256i nibbles(const uint8_t* p) {
    const __m256i pairs = _mm256_broadcastsi128_si256(load_16(p));
    return masked(_mm256_srlv_epi64(pairs, _mm256_setr_epi64x(0, 0, 4, 4)), 15);
  }
};

struct Q4K : KScales {
  static constexpr int64_t kBytes = 144;
  static constexpr int kMost = 15;
  template <int kAt>
  static PIPPIN_VEC void codes(const uint8_t* p, __m256i (&sets)[2]) {
    sets[0] = nibbles(p + 16 + 32 * kAt);
    sets[1] = nibbles(p + 32 + 32 * kAt);
  }
};

struct Q5K : KScales {
  static constexpr int64_t kBytes = 176;
  static constexpr int kMost = 31;
  template <int kAt>
  static PIPPIN_VEC void codes(const uint8_t* p, __m256i (&sets)[2]) {
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      // Bit 2 kAt is the first unit's.
      const __m256i bits = _mm256_broadcastsi128_si256(load_16(p + 16 + 16 * i));
      const __m256i own = _mm256_srlv_epi64(bits, _mm256_setr_epi64x(0, 0, 1, 1));
      sets[i] = joined(nibbles(p + 48 + 32 * kAt + 16 * i), masked(moved<2 * kAt - 4>(own), 16));
    }
  }
};

struct Q6K {
  static constexpr int64_t kStep = 256, kUnit = 16, kBytes = 210;
  static constexpr bool kOffsets = false;
  static constexpr int kLess = 32, kMost = 32;
  using Numbers = ScaleLanes<8>;
  static PIPPIN_VEC void load(const uint8_t* const (&p)[4], Numbers& numbers) {
    const Words words = words_at(p, 192);
    const F scale = halves(p, 208, 208);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      scale_levels<true>(words.of[i], 0, scale, numbers.scale + 2 * i);
    }
  }
  template <int kAt>
  static PIPPIN_VEC void codes(const uint8_t* p, __m256i (&sets)[2]) {
    constexpr int kPart = kAt / 2, kRun = kAt % 2 * 2;
    const __m256i high = load_32(p + 128 + 32 * kPart);
    const __m256i first = moved<2 * kRun>(load_32(p + 64 * kPart));
    const __m256i second = moved<2 * kRun>(load_32(p + 64 * kPart + 32));
    sets[0] = joined(masked(first, 15), masked(moved<2 * kRun - 4>(high), 0x30));
    sets[1] = joined(masked(second, 15), masked(moved<2 * kRun - 2>(high), 0x30));
  }
};

struct Q2K {
  static constexpr int64_t kStep = 256, kUnit = 16, kBytes = 84;
  static constexpr bool kOffsets = true;
  static constexpr int kLess = 0, kMost = 3;
  using Numbers = ScaleLanes<8>;
  static PIPPIN_VEC void load(const uint8_t* const (&p)[4], Numbers& numbers) {
    const Words words = words_at(p, 0);
    const F scale = halves(p, 80, 80), least = halves(p, 82, 82);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      scale_levels(masked(words.of[i], 15), 0, scale, numbers.scale + 2 * i);
      scale_levels(masked(_mm_srli_epi32(words.of[i], 4), 15), 0, least, numbers.offset + 2 * i);
    }
  }
  template <int kAt>
  static PIPPIN_VEC void codes(const uint8_t* p, __m256i (&sets)[2]) {
    constexpr int kRun = kAt % 2 * 2;
    const __m256i bytes = load_32(p + 16 + 32 * (kAt / 2));
    sets[0] = masked(moved<2 * kRun>(bytes), 3);
    sets[1] = masked(moved<2 * kRun + 2>(bytes), 3);
  }
};

struct Q3K {
  static constexpr int64_t kStep = 256, kUnit = 16, kBytes = 110;
  static constexpr bool kOffsets = false;
  static constexpr int kLess = 4, kMost = 4;
  using Numbers = ScaleLanes<8>;
  static PIPPIN_VEC void load(const uint8_t* const (&p)[4], Numbers& numbers) {
    // The last 14 bytes: levels' low halves in 8, their high pairs in 4, the scale.
    const auto last = [](const uint8_t* from) __attribute__((always_inline)) {
      return _mm_srli_si128(load_16(from + kBytes - 16), 2);
    };
    const Words words = words_of(last(p[0]), last(p[1]), last(p[2]), last(p[3]));
    const F scale = low_halves(words.of[3]);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const __m128i low = masked(_mm_srli_epi32(words.of[i % 2], 4 * (i / 2)), 15);
      const __m128i high = masked(_mm_srli_epi32(words.of[2], 2 * i), 3);
      scale_levels(_mm_or_si128(low, _mm_slli_epi32(high, 4)), 32, scale, numbers.scale + 2 * i);
    }
  }
  template <int kAt>
  static PIPPIN_VEC void codes(const uint8_t* p, __m256i (&sets)[2]) {
    constexpr int kRun = kAt % 2 * 2;
    const __m256i high = load_32(p), bytes = load_32(p + 32 + 32 * (kAt / 2));
    sets[0] = joined(masked(moved<2 * kRun>(bytes), 3), masked(moved<2 * kAt - 2>(high), 4));
    sets[1] = joined(masked(moved<2 * kRun + 2>(bytes), 3), masked(moved<2 * kAt - 1>(high), 4));
  }
};

}  // namespace

bool avx2_dot_row(const GgmlDotArgs& args) noexcept {
  switch (args.w->type) {
    case GgmlType::Q80:
      return dot_row<Q80>(args);
    case GgmlType::Q40:
      return dot_row<Q40>(args);
    case GgmlType::Q41:
      return dot_row<Q41>(args);
    case GgmlType::Q50:
      return dot_row<Q50>(args);
    case GgmlType::Q51:
      return dot_row<Q51>(args);
    case GgmlType::Iq4Nl:
      return dot_row<Iq4Nl>(args);
    case GgmlType::Iq4Xs:
      return dot_row<Iq4Xs>(args);
    case GgmlType::Mxfp4:
      return dot_row<Mxfp4>(args);
    case GgmlType::Q2K:
      return dot_row<Q2K>(args);
    case GgmlType::Q3K:
      return dot_row<Q3K>(args);
    case GgmlType::Q4K:
      return dot_row<Q4K>(args);
    case GgmlType::Q5K:
      return dot_row<Q5K>(args);
    case GgmlType::Q6K:
      return dot_row<Q6K>(args);
    default:
      return false;
  }
  return false;
}

}  // namespace pippin::kernels
