// The kernels of kernels.inc. Included by files that are compiled for one instruction set: no
// inline functions here.
#pragma once

#include <cstdint>

namespace pippin::kernels {

// The integers of a linear format, and where the search for a block's scale starts.
struct LinearLevels {
  float lowest, highest, middle;  // `middle` is the offset of a symmetric format
  bool symmetric;
  bool half_scale;      // scales are rounded to fp16
  const float* shares;  // of a block's range, that the starts cover
  int64_t num_shares;
};

// How a block is rounded: p = round(x / scale), in low .. high.
struct LinearRounding {
  float scale, low, high;
};

// Sums over the elements of a block: of x * p, p * p, p and (x - p * scale)^2, each times its
// weight.
struct LinearSums {
  double xp, pp, p, error;
};

// What a block costs: sums of the squares of the differences, and of the values.
struct BlockSums {
  double error, energy;
};

// A power of two, and a multiple of every kernel's lanes.
constexpr int64_t kBlocksAtOnce = 16;
// Of the elements of a block that choose_scales() takes: its sums of floats stay short.
constexpr int64_t kMaxSmallBlock = 512;

struct QuantizeKernels {
  const char* name;

  // `weights` is null where all are 1.
  void (*measure)(const float* x, const float* weights, int64_t count,
                  const LinearRounding& rounding, LinearSums* sums) noexcept;
  // codes[i] = the low byte of p + offset.
  void (*encode)(const float* x, int64_t count, const LinearRounding& rounding, int offset,
                 uint8_t* codes) noexcept;
  // Scales and offsets of `count` <= kBlocksAtOnce blocks of `size` <= kMaxSmallBlock values each,
  // one after another; a lane is a block. `scratch` holds size * kBlocksAtOnce floats, and as many
  // again for weights. Null in scalar code, where each block is searched by itself.
  void (*choose_scales)(const float* x, const float* weights, int64_t count, int64_t size,
                        const LinearLevels& levels, float* scratch, float* scales,
                        float* offsets) noexcept;
  // Codes of 4 bits of `count` blocks, two in a byte, the first one low. `size` is a multiple of
  // 16. Adds to `sums`.
  void (*pack4)(const float* x, int64_t count, int64_t size, const LinearLevels& levels,
                const float* scales, const float* offsets, uint8_t* out, BlockSums* sums) noexcept;
  // sums[j] += factors[0] * rows[j] + factors[1] * rows[stride + j] + ..., for j < count and
  // `num_rows` rows: what calibration spends its time in.
  void (*add_products)(const float* factors, const float* rows, int64_t stride, int64_t num_rows,
                       int64_t count, float* sums) noexcept;
};

#define PIPPIN_QUANTIZE(flag, name) extern const QuantizeKernels name;
#include "pippin/kernels/quantize/kernels.inc"
#undef PIPPIN_QUANTIZE

}  // namespace pippin::kernels
