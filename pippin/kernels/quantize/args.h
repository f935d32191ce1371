// The kernels of kernels.inc. Included by files that are compiled for one instruction set: no
// inline functions here.
#pragma once

#include <cstdint>

namespace pippin::kernels {

// The integers of a linear format, and the starting points of the search for a block's scale.
struct LinearLevels {
  float lowest, highest, middle;  // `middle` is the offset of a symmetric format
  bool symmetric;
  bool half_scale;      // scales are rounded to fp16
  const float* shares;  // fractions of a block's range that the starting points cover
  int64_t num_shares;
};

// The rounding of a block: p = round(x / scale), in low .. high.
struct LinearRounding {
  float scale, low, high;
};

// Weighted sums over the elements of a block: of x * p, p * p, p and (x - p * scale)^2.
struct LinearSums {
  double xp, pp, p, error;
};

// The error of a block: sums of the squares of the differences, and of the values.
struct BlockSums {
  double error, energy;
};

// A power of two and a multiple of every kernel's lanes.
constexpr int64_t kBlocksAtOnce = 16;
// The largest block that choose_scales() accepts: its float sums stay short.
constexpr int64_t kMaxSmallBlock = 512;

struct QuantizeKernels {
  const char* name;

  // `weights` is null if all are 1.
  void (*measure)(const float* x, const float* weights, int64_t count,
                  const LinearRounding& rounding, LinearSums* sums) noexcept;
  // codes[i] = the low byte of p + offset.
  void (*encode)(const float* x, int64_t count, const LinearRounding& rounding, int offset,
                 uint8_t* codes) noexcept;
  // Scales and offsets of `count` <= kBlocksAtOnce blocks of `size` <= kMaxSmallBlock values each,
  // stored consecutively; each block is a lane. `scratch` holds size * kBlocksAtOnce floats, and
  // twice that with weights. Null in scalar code, which searches each block by itself.
  void (*choose_scales)(const float* x, const float* weights, int64_t count, int64_t size,
                        const LinearLevels& levels, float* scratch, float* scales,
                        float* offsets) noexcept;
  // 4-bit codes of `count` blocks, two per byte, the first one low. `size` is a multiple of 16.
  // Adds to `sums`.
  void (*pack4)(const float* x, int64_t count, int64_t size, const LinearLevels& levels,
                const float* scales, const float* offsets, uint8_t* out, BlockSums* sums) noexcept;
  // sums[j] += factors[0] * rows[j] + factors[1] * rows[stride + j] + ..., for j < count and
  // `num_rows` rows: calibration spends most of its time here.
  void (*add_products)(const float* factors, const float* rows, int64_t stride, int64_t num_rows,
                       int64_t count, float* sums) noexcept;
};

#define PIPPIN_QUANTIZE(flag, name) extern const QuantizeKernels name;
#include "pippin/kernels/quantize/kernels.inc"
#undef PIPPIN_QUANTIZE

}  // namespace pippin::kernels
