// Scales and offsets of blocks as fp32 registers, over the vectors and bytes of the includer.
#pragma once

#include "pippin/kernels/quantized_dot/args.h"
#include "pippin/kernels/quantized_dot/block_rows.h"
#include "pippin/kernels/vec/row_streams.h"

namespace pippin::kernels {
namespace {

// Loads the `count` values from `index` on, at most kLanes; 0 in the other lanes.
PIPPIN_VEC F load_stored(const void* values, WeightType type, int64_t index, int64_t count) {
  const bool whole = !kPartLoads && count >= kLanes;
  if (type == WeightType::F32) {
    const float* p = static_cast<const float*>(values) + index;
    return whole ? load(p) : load_part(p, count);
  }
  const uint16_t* p = static_cast<const uint16_t*>(values) + index;
  if (type == WeightType::F16) return whole ? load_f16(p) : load_part_f16(p, count);
  return whole ? load_bf16(p) : load_part_bf16(p, count);
}

PIPPIN_VEC F load_offsets(const QuantizedMatrix& w, OffsetType type, int64_t index, int64_t count) {
  if (count <= 0) return set(0);
  switch (type) {
    case OffsetType::F32:
      return load_stored(w.offsets, WeightType::F32, index, count);
    case OffsetType::F16:
      return load_stored(w.offsets, WeightType::F16, index, count);
    case OffsetType::BF16:
      return load_stored(w.offsets, WeightType::BF16, index, count);
    default:
      break;
  }
  const bool nibbles = type == OffsetType::I4 || type == OffsetType::U4;
  const auto* p = static_cast<const uint8_t*>(w.offsets) + (nibbles ? index / 2 : index);
  I values = set_i(0);
  int32_t half = 0;
  if (nibbles) {
    // One more than kLanes of them if the first is the second of its byte.
    uint64_t word = 0;
    const bool odd = index % 2 != 0;
    if (count >= kLanes) {
      __builtin_memcpy(&word, p, kLanes / 2);
      if (odd) word = word >> 4 | static_cast<uint64_t>(p[kLanes / 2]) << (4 * kLanes - 4);
    } else {
      const int64_t bytes = (count + (odd ? 2 : 1)) / 2;
      for (int64_t i = 0; i < bytes; ++i) word |= static_cast<uint64_t>(p[i]) << (8 * i);
      if (odd) word >>= 4;
    }
    values = nibble_lanes(word);
    half = type == OffsetType::I4 ? 8 : 0;
  } else {
    uint8_t copy[kLanes < 8 ? 8 : kLanes] = {};
    for (int64_t i = 0; i < count && count < kLanes; ++i) copy[i] = p[i];
    values = widen(count >= kLanes ? p : copy);
    half = type == OffsetType::I8 ? 128 : 0;
  }
  const F result = to_float((values ^ set_i(half)) - set_i(half));
  return count >= kLanes
             ? result
             : select(lane_numbers() < set_i(static_cast<int32_t>(count)), result, set(0));
}

constexpr int64_t kScalesAhead = 512;  // bytes: a few rows of the same stream

// The blocks of W, viewed as one per unit of columns.
struct Blocks {
  const QuantizedMatrix& w;
  int64_t ratio;  // units in a block
  bool plain;     // one fp16 scale per unit

  PIPPIN_VEC Blocks(const QuantizedMatrix& matrix, int64_t unit)
      : w(matrix),
        ratio(matrix.block_columns / unit),
        plain(ratio == 1 && matrix.scale_type == WeightType::F16) {}

  // Loads kLanes existing scales, starting at a block of a plain matrix.
  PIPPIN_VEC F get_plain(int64_t block) const {
    const uint16_t* p = static_cast<const uint16_t*>(w.scales) + block;
    __builtin_prefetch(reinterpret_cast<const char*>(p) + kScalesAhead);
    return load_f16(p);
  }
};

// The blocks of the kLanes units from `unit` on, the same for all rows: `base` is a row's first
// block. Beyond the row there is either a block of zeros, or the activations are 0 and the last
// block is repeated.
struct BlockSpan {
  const QuantizedMatrix& w;
  int64_t first, count;
  I block;    // index of each unit's block, relative to the first
  bool each;  // whether each unit has its own block

  PIPPIN_VEC BlockSpan(const Blocks& blocks, int64_t unit) : w(blocks.w), each(blocks.ratio == 1) {
    const int64_t ratio = blocks.ratio;
    first = each ? unit : unit / ratio;
    count = w.blocks_per_row - first;
    count = count < 0 ? 0 : count < kLanes ? count : kLanes;
    // (rest + lane) / ratio, exact in fp32.
    const F places =
        to_float(lane_numbers()) + set(static_cast<float>(unit - first * ratio) + 0.5F);
    block = truncate(places * set(1.0F / static_cast<float>(ratio)));
  }
  PIPPIN_VEC F scales(int64_t base) const {
    // There are too few for the hardware to detect a stream.
    __builtin_prefetch(static_cast<const char*>(w.scales) +
                       (base + first) * (w.scale_type == WeightType::F32 ? 4 : 2) + kScalesAhead);
    const F stored = load_stored(w.scales, w.scale_type, base + first, count);
    return each ? stored : pick(stored, block);
  }
};

// The scale of a row that is one block.
PIPPIN_VEC float row_scale(const QuantizedMatrix& w, int64_t i) {
  if (w.scales == nullptr) return w.byte_scales[block_row(w, i)];
  return sum(load_stored(w.scales, w.scale_type, first_block(w, i), 1));
}
PIPPIN_VEC float row_offset(const QuantizedMatrix& w, int64_t i) {
  return sum(load_offsets(w, w.offset_type, first_block(w, i), 1));
}

}  // namespace
}  // namespace pippin::kernels
