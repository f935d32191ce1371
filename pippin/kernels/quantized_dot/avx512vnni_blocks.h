// Scales and offsets of blocks as fp32 registers. Only for x86_avx512vnni.cpp.
#pragma once

#include "pippin/kernels/quantized_dot/block_rows.h"
#include "pippin/kernels/vec/avx512.h"

namespace pippin::kernels {
namespace {

PIPPIN_VEC __m512 load_stored(const void* values, WeightType type, int64_t index, int64_t count) {
  const __mmask16 mask = first_lanes(count);
  if (type == WeightType::F32) {
    return _mm512_maskz_loadu_ps(mask, static_cast<const float*>(values) + index);
  }
  const __m256i bits = _mm256_maskz_loadu_epi16(mask, static_cast<const uint16_t*>(values) + index);
  return type == WeightType::F16
             ? _mm512_cvtph_ps(bits)
             : _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

// Up to 16 offsets from the block `index` on.
PIPPIN_VEC __m512 load_offsets(const QuantizedMatrix& w, int64_t index, int64_t count) {
  const auto* bytes = static_cast<const uint8_t*>(w.offsets);
  switch (w.offset_type) {
    case OffsetType::None:
      return _mm512_setzero_ps();
    case OffsetType::F32:
      return load_stored(w.offsets, WeightType::F32, index, count);
    case OffsetType::F16:
      return load_stored(w.offsets, WeightType::F16, index, count);
    case OffsetType::I8:
      return _mm512_cvtepi32_ps(
          _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(first_lanes(count), bytes + index)));
    case OffsetType::U8:
      return _mm512_cvtepi32_ps(
          _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(first_lanes(count), bytes + index)));
    case OffsetType::I4:
    case OffsetType::U4:
      break;
  }
  const int64_t first = index / 2;
  const __m128i raw =
      _mm_maskz_loadu_epi8(first_lanes((index + count + 1) / 2 - first), bytes + first);
  auto word = static_cast<uint64_t>(_mm_extract_epi64(raw, 0));
  if (index % 2 != 0) word = word >> 4 | static_cast<uint64_t>(_mm_extract_epi64(raw, 1)) << 60;
  const __m128i pairs = _mm_set1_epi64x(static_cast<int64_t>(word));
  const __m128i low = _mm_and_si128(pairs, _mm_set1_epi8(15));
  const __m128i high = _mm_and_si128(_mm_srli_epi16(pairs, 4), _mm_set1_epi8(15));
  __m512i values = _mm512_cvtepu8_epi32(_mm_unpacklo_epi8(low, high));
  if (w.offset_type == OffsetType::I4) {
    const __m512i eight = _mm512_set1_epi32(8);
    values = _mm512_sub_epi32(_mm512_xor_si512(values, eight), eight);
  }
  return _mm512_maskz_cvtepi32_ps(first_lanes(count), values);
}

constexpr int64_t kScalesAhead = 512;  // bytes: a few rows of the same stream

// The blocks of W, seen as one for each unit of columns.
struct Blocks {
  const QuantizedMatrix& w;
  int64_t ratio;  // units in a block
  bool plain;     // an fp16 scale for each unit

  PIPPIN_VEC Blocks(const QuantizedMatrix& matrix, int64_t unit)
      : w(matrix),
        ratio(matrix.block_columns / unit),
        plain(ratio == 1 && matrix.scale_type == WeightType::F16) {}

  // 16 scales that are there, from a block of a plain matrix on.
  PIPPIN_VEC __m512 get_plain(int64_t block) const {
    const uint16_t* p = static_cast<const uint16_t*>(w.scales) + block;
    __builtin_prefetch(reinterpret_cast<const char*>(p) + kScalesAhead);
    return load_f16(p).v;
  }
};

// The blocks of the 16 units from `unit` on, alike in all rows: `base` is a row's first block. What
// is beyond the row is 0.
struct BlockSpan {
  const QuantizedMatrix& w;
  int64_t first, count;
  __m512i block;  // of each unit, from the first
  bool each;      // unit has its own

  PIPPIN_VEC BlockSpan(const Blocks& blocks, int64_t unit) : w(blocks.w), each(blocks.ratio == 1) {
    const int64_t ratio = blocks.ratio;
    first = each ? unit : unit / ratio;
    count = w.blocks_per_row - first;
    count = count < 0 ? 0 : count < 16 ? count : 16;
    // (rest + lane) / ratio, exact in fp32.
    const __m512 places =
        _mm512_add_ps(_mm512_set1_ps(static_cast<float>(unit - first * ratio) + 0.5F),
                      _mm512_set_ps(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
    block = _mm512_cvttps_epi32(
        _mm512_mul_ps(places, _mm512_set1_ps(1.0F / static_cast<float>(ratio))));
  }
  PIPPIN_VEC __m512 scales(int64_t base) const {
    // They are too few for the hardware to see a stream.
    __builtin_prefetch(static_cast<const char*>(w.scales) +
                       (base + first) * (w.scale_type == WeightType::F32 ? 4 : 2) + kScalesAhead);
    const __m512 stored = load_stored(w.scales, w.scale_type, base + first, count);
    return each ? stored : _mm512_permutexvar_ps(block, stored);
  }
  PIPPIN_VEC __m512 offsets(int64_t base) const {
    const __m512 stored = load_offsets(w, base + first, count);
    return each ? stored : _mm512_permutexvar_ps(block, stored);
  }
};

// Of a row that is one block.
PIPPIN_VEC float row_scale(const QuantizedMatrix& w, int64_t i) {
  if (w.scales == nullptr) return w.byte_scales[block_row(w, i)];
  return _mm512_cvtss_f32(load_stored(w.scales, w.scale_type, first_block(w, i), 1));
}
PIPPIN_VEC float row_offset(const QuantizedMatrix& w, int64_t i) {
  if (w.offset_type == OffsetType::None) return 0;
  return _mm512_cvtss_f32(load_offsets(w, first_block(w, i), 1));
}

}  // namespace
}  // namespace pippin::kernels
