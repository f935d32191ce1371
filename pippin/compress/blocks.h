// Linear quantization of many small blocks of one size, vectorized.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pippin/compress/linear.h"
#include "pippin/kernels/quantize/args.h"

namespace pippin::compress {

class BlockQuantizer {
 public:
  static constexpr size_t kBatch = kernels::kBlocksAtOnce;     // blocks at a time, at most
  static constexpr size_t kMaxSize = kernels::kMaxSmallBlock;  // elements per block, at most

  // `weighted`: choose() receives weights.
  BlockQuantizer(const LinearFormat& format, size_t size, bool weighted = false);

  // Chooses scales and offsets of `count` <= kBatch blocks of `size` values, stored one after
  // another; as good as those of choose_scale(). `weights` (empty: all 1) are the importance of
  // each value.
  void choose(std::span<const float> values, std::span<const float> weights, size_t count);
  std::span<const float> scales() const { return scales_; }
  std::span<const float> offsets() const { return offsets_; }

  // Writes the codes of the blocks of the last choose(), one byte each, or two per byte for 4-bit
  // formats, for which `size` must be even. Adds to the sums of squares.
  void encode(std::span<const float> values, size_t count, uint8_t* codes);
  void encode_packed(std::span<const float> values, size_t count, uint8_t* bytes);

  double squared_error = 0, energy = 0;

 private:
  LinearFormat format_;
  size_t size_;
  std::vector<float> scratch_;
  std::vector<uint8_t> codes_;
  float scales_[kBatch] = {}, offsets_[kBatch] = {};
};

}  // namespace pippin::compress
