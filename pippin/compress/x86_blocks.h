// Linear quantization of many small blocks at a time: a lane of the vectors is a block, so that no
// sum goes across lanes. Plain types only: see cmake/isa.cmake.
#pragma once

#include <cstddef>

namespace pippin::compress {

// A power of two, and a multiple of every kernel's lanes.
constexpr size_t kBlocksAtOnce = 16;
// Sums of floats stay short.
constexpr size_t kMaxSmallBlock = 512;

struct BlockFormat {
  float lowest, highest, middle;  // of the integers; `middle` is the offset of a symmetric format
  bool symmetric;
  bool half_scale;      // scales are rounded to fp16
  const float* shares;  // of the range, that starts cover; see linear.cpp
  size_t num_shares;
};

// Scales and offsets of `count` <= kBlocksAtOnce blocks of `size` <= kMaxSmallBlock values each,
// one after another. `weights`: what each value counts, null where all are 1. `scratch` holds
// size * kBlocksAtOnce floats, and as many again for weights. The two give the same bits.
void avx2_choose_scales(const float* values, const float* weights, size_t count, size_t size,
                        const BlockFormat& format, float* scratch, float* scales,
                        float* offsets) noexcept;
void avx512_choose_scales(const float* values, const float* weights, size_t count, size_t size,
                          const BlockFormat& format, float* scratch, float* scales,
                          float* offsets) noexcept;

// What a block costs: sums of the squares of the differences, and of the values.
struct BlockSums {
  double error, energy;
};

// Codes of 4 bits, two in a byte, the first one low. `size` is a multiple of 16. Adds to `sums`.
void avx2_pack4(const float* values, size_t count, size_t size, const BlockFormat& format,
                const float* scales, const float* offsets, unsigned char* out,
                BlockSums* sums) noexcept;
void avx512_pack4(const float* values, size_t count, size_t size, const BlockFormat& format,
                  const float* scales, const float* offsets, unsigned char* out,
                  BlockSums* sums) noexcept;

// See add_products() in products.h.
void avx2_add_products(const float* factors, const float* rows, size_t stride, size_t num_rows,
                       size_t count, float* sums) noexcept;
void avx512_add_products(const float* factors, const float* rows, size_t stride, size_t num_rows,
                         size_t count, float* sums) noexcept;

}  // namespace pippin::compress
