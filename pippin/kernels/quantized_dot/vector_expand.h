// Expands rows of W to fp32, over the vectors and bytes of the includer.
#pragma once

#include "pippin/kernels/quantized_dot/vector_codes.h"

namespace pippin::kernels {
namespace {

constexpr int64_t kPiece = 128;  // columns decoded at once

// Decodes `count` codes, starting with element `at` of the stream, to one byte each.
template <int kBits>
void decode(const uint8_t* codes, int64_t at, int64_t count, uint8_t* to) {
  int64_t i = 0;
  if (at * kBits % 8 == 0) {
    const uint8_t* p = codes + at * kBits / 8;
    constexpr int64_t kBytes = kByteLanes * kBits / 8;
    for (; i + kByteLanes <= count &&
           (i * kBits / 8) + kBytes + kUnpackSlack<kBits> <= (count * kBits + 7) / 8;
         i += kByteLanes) {
      store_bytes(to + i, unpack<kBits>(p + i * kBits / 8));
    }
  }
  for (; i < count; ++i) {
    const int64_t bit = (at + i) * kBits;
    int window = codes[bit / 8];
    if (bit % 8 + kBits > 8) window |= codes[bit / 8 + 1] << 8;
    to[i] = static_cast<uint8_t>(window >> (bit % 8) & ((1 << kBits) - 1));
  }
}

PIPPIN_VEC float first_of(const void* values, WeightType type, int64_t index) {
  return sum(load_stored(values, type, index, 1));
}

// (code - offset) * scale for all codes of one block, or code * scale - offset.
PIPPIN_VEC void scale_codes(const uint8_t* codes, int64_t count, int32_t half, float scale,
                            float offset, bool scaled, float* y) {
  const I flip = set_i(half);
  for (int64_t c = 0; c < count; c += kLanes) {
    const int64_t here = smaller_of(count - c, kLanes);
    const F code = to_float((widen(codes + c) ^ flip) - flip);
    const F value =
        scaled ? fma(code, set(scale), set(-offset)) : (code - set(offset)) * set(scale);
    here == kLanes ? store(y + c, value) : store_part(y + c, value, here);
  }
}

template <int kBits>
PIPPIN_VEC void look_up_codes(const uint8_t* codes, int64_t count, const float* table, float* y) {
  for (int64_t c = 0; c < count; c += kLanes) {
    const int64_t here = smaller_of(count - c, kLanes);
    const F value = look_up<kBits>(table, widen(codes + c));
    here == kLanes ? store(y + c, value) : store_part(y + c, value, here);
  }
}

template <int kBits>
void expand_codes(const QuantizedMatrix& w, int64_t i, int64_t begin, int64_t end, float* y) {
  constexpr int64_t kPast = 16;  // widen() reads past the last code
  uint8_t decoded[kPiece + kPast] = {};
  float table[256] = {};
  const int64_t row = w.first + i * w.k, base = first_block(w, i);
  const int32_t half = w.is_signed ? 1 << (kBits - 1) : 0;
  int64_t in_table = -1;
  for (int64_t j = begin; j < end; j += kPiece) {
    const int64_t count = smaller_of(end - j, kPiece);
    const uint8_t* codes = decoded;
    if (kBits == 8 && end - j >= kPiece + kPast) {
      codes = w.codes + row + j;
    } else {
      decode<kBits>(w.codes, row + j, count, decoded);
    }
    for (int64_t c = 0; c < count;) {
      const int64_t column = (j + c) / w.block_columns, block = base + column;
      const int64_t here = smaller_of((column + 1) * w.block_columns - (j + c), count - c);
      if (w.scales != nullptr) {
        const float offset =
            w.offset_type != OffsetType::None ? sum(load_offsets(w, w.offset_type, block, 1)) : 0;
        scale_codes(codes + c, here, half, first_of(w.scales, w.scale_type, block), offset,
                    w.scaled_offsets, y);
      } else {
        if (block != in_table) {
          constexpr int64_t kEntries = int64_t{1} << kBits;
          for (int64_t e = 0; e < kEntries; e += kLanes) {
            const F values = load_stored(w.palettes, w.palette_type, block * kEntries + e,
                                         smaller_of(kEntries - e, kLanes));
            store(table + e, values);
          }
          in_table = block;
        }
        look_up_codes<kBits>(codes + c, here, table, y);
      }
      c += here;
      y += here;
    }
  }
}

void expand(const QuantizedMatrix& w, int64_t i, int64_t begin, int64_t end, float* y) noexcept {
  switch (w.bits) {
    case 1:
      return expand_codes<1>(w, i, begin, end, y);
    case 2:
      return expand_codes<2>(w, i, begin, end, y);
    case 3:
      return expand_codes<3>(w, i, begin, end, y);
    case 4:
      return expand_codes<4>(w, i, begin, end, y);
    case 6:
      return expand_codes<6>(w, i, begin, end, y);
    default:
      return expand_codes<8>(w, i, begin, end, y);
  }
}

}  // namespace
}  // namespace pippin::kernels
