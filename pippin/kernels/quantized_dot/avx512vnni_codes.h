// Codes of 1 to 8 bits into bytes, and bytes through palettes, with VBMI. Only for
// x86_avx512vnni.cpp.
#pragma once

#include "pippin/kernels/quantized_dot/block_rows.h"
#include "pippin/kernels/quantized_dot/row_tiles.h"
#include "pippin/kernels/vec/avx512.h"

namespace pippin::kernels {
namespace {

struct Bytes64 {
  alignas(64) uint8_t at[64];
};

// Byte 8q + i takes byte b*q + i: each eight codes of b bits come into one 64-bit word.
template <int kBits>
constexpr Bytes64 word_index() {
  Bytes64 index{};
  for (int q = 0; q < 8; ++q) {
    for (int i = 0; i < 8; ++i) index.at[8 * q + i] = static_cast<uint8_t>((kBits * q + i) % 64);
  }
  return index;
}
// Byte 8q + i takes the eight bits from bit b*i of its word on.
template <int kBits>
constexpr Bytes64 bit_index() {
  Bytes64 index{};
  for (int i = 0; i < 64; ++i) index.at[i] = static_cast<uint8_t>(kBits * (i % 8));
  return index;
}
template <int kBits>
constexpr Bytes64 kWordIndex = word_index<kBits>();
template <int kBits>
constexpr Bytes64 kBitIndex = bit_index<kBits>();

// The even ones of 128 bytes.
constexpr Bytes64 even_index() {
  Bytes64 index{};
  for (int i = 0; i < 64; ++i) index.at[i] = static_cast<uint8_t>(2 * i);
  return index;
}
constexpr Bytes64 kEvenIndex = even_index();

PIPPIN_VEC __m512i load_table(const Bytes64& table) {
  return _mm512_load_si512(table.at);
}

PIPPIN_VEC __mmask64 first_bytes(int64_t n) {
  return n >= 64 ? ~__mmask64{0} : n <= 0 ? __mmask64{0} : (__mmask64{1} << n) - 1;
}

// 64 codes in their order, under other bits of the stream; `left` bytes may be read from p on, what
// lies beyond counts as 0.
template <int kBits>
PIPPIN_VEC __m512i loose_codes64(const uint8_t* p, int64_t left) {
  constexpr int64_t kBytes = 8 * kBits;
  const __m512i bytes = _mm512_maskz_loadu_epi8(first_bytes(left < kBytes ? left : kBytes), p);
  if constexpr (kBits == 8) return bytes;
  const __m512i words = _mm512_permutexvar_epi8(load_table(kWordIndex<kBits>), bytes);
  return _mm512_multishift_epi64_epi8(load_table(kBitIndex<kBits>), words);
}

// The same without the other bits.
template <int kBits>
PIPPIN_VEC __m512i codes64(const uint8_t* p, int64_t left) {
  return _mm512_and_si512(loose_codes64<kBits>(p, left),
                          _mm512_set1_epi8(static_cast<char>((1 << kBits) - 1)));
}

// 64 bytes, or the `left` ones that there are, loaded once: the compiler would do it for every use,
// and loads are scarce.
PIPPIN_VEC __m512i load_nibbles(const uint8_t* p, int64_t left) {
  __m512i bytes =
      left >= 64 ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi8(first_bytes(left), p);
  __asm__("" : "+v"(bytes));
  return bytes;
}

// A palette of bytes in registers; see byte_palette_stride().
template <int kBits>
struct BytePalette {
  static constexpr int kRegisters = kBits == 8 ? 4 : 1;
  __m512i entries[kRegisters];

  PIPPIN_VEC void load(const uint8_t* p) {
    if constexpr (kBits <= 4) {
      entries[0] = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    } else {
#pragma GCC unroll 4
      for (int i = 0; i < kRegisters; ++i) entries[i] = _mm512_loadu_si512(p + 64 * i);
    }
  }
  // Of each code the low kBits.
  PIPPIN_VEC __m512i at(__m512i codes) const {
    if constexpr (kBits <= 6) {
      return _mm512_permutexvar_epi8(codes, entries[0]);
    } else {
      const __m512i low = _mm512_permutex2var_epi8(entries[0], codes, entries[1]);
      const __m512i high = _mm512_permutex2var_epi8(entries[2], codes, entries[3]);
      return _mm512_mask_blend_epi8(_mm512_movepi8_mask(codes), low, high);
    }
  }
};

// What a dot multiplies: unsigned bytes, `center` above the true values; of palettes a plane of
// high bytes and one of low bytes. kParts registers hold 64 * kParts columns in the order of
// ValueOrder: two for nibbles, whose halves need no sorting, and for pairs. Rows of W may be one
// block (kWhole), or several (kBlocks). Halves are the same codes, one register at a time.
struct AffineNibbles {
  static constexpr int kParts = 2, kPlanes = 1, kBits = 4;
  static constexpr bool kWhole = true, kBlocks = true;
  using Halves = AffineNibbles;
  __m512i flip;  // makes unsigned codes of signed ones
  PIPPIN_VEC void start(const QuantizedMatrix& w, int64_t) {
    flip = _mm512_set1_epi8(w.is_signed ? 8 : 0);
  }
  PIPPIN_VEC void load(const uint8_t* p, int64_t left, __m512i (&parts)[kPlanes][2]) const {
    const __m512i bytes = load_nibbles(p, left), low = _mm512_set1_epi8(15);
    constexpr int kAndXor = 0x6a;  // (bytes & low) ^ flip
    parts[0][0] = _mm512_ternarylogic_epi32(bytes, low, flip, kAndXor);
    parts[0][1] = _mm512_ternarylogic_epi32(_mm512_srli_epi16(bytes, 4), low, flip, kAndXor);
  }
};
struct PaletteNibbles {
  static constexpr int kParts = 2, kPlanes = 2, kBits = 4;
  static constexpr bool kWhole = true, kBlocks = false;
  using Halves = PaletteNibbles;
  BytePalette<4> high, low;
  PIPPIN_VEC void start(const QuantizedMatrix& w, int64_t i) {
    high.load(w.byte_palettes + block_row(w, i) * 32);
    low.load(w.byte_palettes + block_row(w, i) * 32 + 16);
  }
  PIPPIN_VEC void load(const uint8_t* p, int64_t left, __m512i (&parts)[kPlanes][2]) const {
    const __m512i bytes = load_nibbles(p, left);
    const __m512i odd = _mm512_srli_epi16(bytes, 4);
    parts[0][0] = high.at(bytes);
    parts[0][1] = high.at(odd);
    parts[1][0] = low.at(bytes);
    parts[1][1] = low.at(odd);
  }
};
// Two registers of them only where a row has one scale.
template <int kRegisters>
struct AffineBytes {
  static constexpr int kParts = kRegisters, kPlanes = 1, kBits = 8;
  static constexpr bool kWhole = kRegisters == 2, kBlocks = !kWhole;
  using Halves = AffineBytes<1>;
  __m512i flip;
  PIPPIN_VEC void start(const QuantizedMatrix& w, int64_t) {
    flip = _mm512_set1_epi8(static_cast<char>(w.is_signed ? 0x80 : 0));
  }
  PIPPIN_VEC void load(const uint8_t* p, int64_t left, __m512i (&parts)[kPlanes][kParts]) const {
#pragma GCC unroll 2
    for (int part = 0; part < kParts; ++part) {
      parts[0][part] = _mm512_xor_si512(codes64<kBits>(p + 64 * part, left - 64 * part), flip);
    }
  }
};
template <int kCodeBits, int kRegisters = 2>
struct PaletteBytes {
  static constexpr int kParts = kRegisters, kPlanes = 2, kBits = kCodeBits;
  static constexpr bool kWhole = true, kBlocks = false;
  using Halves = PaletteBytes<kBits, 1>;
  BytePalette<kBits> high, low;
  PIPPIN_VEC void start(const QuantizedMatrix& w, int64_t i) {
    constexpr int64_t kStride = kBits <= 4 ? 16 : kBits <= 6 ? 64 : 256;
    high.load(w.byte_palettes + block_row(w, i) * 2 * kStride);
    low.load(w.byte_palettes + block_row(w, i) * 2 * kStride + kStride);
  }
  PIPPIN_VEC void load(const uint8_t* p, int64_t left, __m512i (&parts)[kPlanes][kParts]) const {
#pragma GCC unroll 2
    for (int part = 0; part < kParts; ++part) {
      const __m512i codes = loose_codes64<kBits>(p + 8 * kBits * part, left - 8 * kBits * part);
      parts[0][part] = high.at(codes);
      parts[1][part] = low.at(codes);
    }
  }
};

}  // namespace
}  // namespace pippin::kernels
