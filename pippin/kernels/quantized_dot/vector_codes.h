// Codes of 1 to 8 bits as the bytes that a dot multiplies, over the bytes of the includer. `left`
// bytes of a row of W may be read from p on. If loads can be partial (kPartLoads), the rest counts
// as 0; otherwise a whole set and kSlack bytes after it must be readable.
//
// A set is the result of one load: kParts registers for kByteLanes * kParts columns, in the order
// of ValueOrder; two for nibbles, whose halves need no sorting. Palettes have a plane of high bytes
// and one of low bytes. If bytes are multiplied as signed (kSignedBytes), a palette entry is 256 *
// high + low with both signed, which is exact: entries are within 127 * 256.
#pragma once

#include "pippin/kernels/quantized_dot/vector_blocks.h"

namespace pippin::kernels {
namespace {

// Nibbles, two in each byte, as stored.
struct NibblePairs {
  static constexpr int kParts = 1, kPlanes = 1, kBits = 8;
  PIPPIN_VEC void start(const QuantizedMatrix&, int64_t) {}
  PIPPIN_VEC void load(const uint8_t* p, int64_t left, B (&parts)[kPlanes][kParts]) const {
    parts[0][0] = load_bytes(p, left);
  }
};

struct AffineNibbles {
  static constexpr int kParts = 2, kPlanes = 1, kBits = 4;
  static constexpr bool kPalette = false, kNibbles = true;
  uint8_t mask;  // converts signed codes to unsigned ones

  PIPPIN_VEC void start(const QuantizedMatrix& w, int64_t) { mask = w.is_signed ? 0x88 : 0; }
  PIPPIN_VEC void load(const uint8_t* p, int64_t left, B (&parts)[kPlanes][kParts]) const {
    cut(load_bytes(p, left), parts[0][0], parts[0][1]);
  }
  PIPPIN_VEC void cut(B pairs, B& low, B& high) const { cut_nibbles(pairs, mask, low, high); }
};

struct AffineBytes {
  static constexpr int kParts = 1, kPlanes = 1, kBits = 8;
  static constexpr bool kPalette = false, kNibbles = false;
  uint8_t mask;  // converts codes to the signedness that the products need

  PIPPIN_VEC void start(const QuantizedMatrix& w, int64_t) {
    mask = w.is_signed == kSignedBytes ? 0 : 0x80;
  }
  PIPPIN_VEC void load(const uint8_t* p, int64_t left, B (&parts)[kPlanes][kParts]) const {
    parts[0][0] = flip(load_bytes(p, left), mask);
  }
};

template <int kCodeBits>
struct Palette {
  static constexpr int kParts = kCodeBits == 4 ? 2 : 1, kPlanes = 2, kBits = kCodeBits;
  static constexpr bool kPalette = true, kNibbles = false;
  ByteTable<kBits> high, low;

  PIPPIN_VEC void start(const QuantizedMatrix& w, int64_t i) {
    constexpr int64_t kStride = kBits <= 4 ? 16 : kBits <= 6 ? 64 : 256;
    const uint8_t* p = w.byte_palettes + block_row(w, i) * 2 * kStride;
    high.load(p);
    low.load(p + kStride);
    if constexpr (kSignedBytes) {
      for (int part = 0; part < ByteTable<kBits>::kParts; ++part) {
        high.part[part] = add_top_bit(flip(high.part[part], 0x80), low.part[part]);
      }
    }
  }
  PIPPIN_VEC void load(const uint8_t* p, int64_t left, B (&parts)[kPlanes][kParts]) const {
    if constexpr (kBits == 4) {
      const B codes = load_bytes(p, left);
      const B even = loose_low(codes), odd = loose_high(codes);
      parts[0][0] = high.at(even);
      parts[0][1] = high.at(odd);
      parts[1][0] = low.at(even);
      parts[1][1] = low.at(odd);
    } else {
      const B codes = unpack_loose<kBits>(p, left);
      parts[0][0] = high.at(codes);
      parts[1][0] = low.at(codes);
    }
  }
};

// Number of bytes that load() may read after the codes of a set.
template <typename Codes>
constexpr int64_t kSlack = kUnpackSlack<Codes::kBits>;

// Loads a set of which `left` bytes exist.
template <typename Codes>
PIPPIN_VEC void load_set(const Codes& codes, const uint8_t* p, int64_t left,
                         B (&parts)[Codes::kPlanes][Codes::kParts]) {
  constexpr int64_t kBytes = kByteLanes * Codes::kParts * Codes::kBits / 8 + kSlack<Codes>;
  if (kPartLoads || left >= kBytes) return codes.load(p, left, parts);
  alignas(64) uint8_t last[kBytes];
  for (int64_t i = 0; i < kBytes; ++i) last[i] = i < left ? p[i] : 0;
  codes.load(last, kBytes, parts);
}

// The position of the values of the columns from j on; in Split order, odd columns are 64 after
// even ones.
template <int kParts>
PIPPIN_VEC int64_t value_place(int64_t j) {
  return kParts == 2 ? j / 128 * 128 + j % 128 / 2 : j;
}

}  // namespace
}  // namespace pippin::kernels
