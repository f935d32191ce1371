// The storage form of one weight: everything that determines the sizes of its parts.
#pragma once

#include <cstdint>

#include "pippin/compress/block_grid.h"
#include "pippin/compress/linear.h"
#include "pippin/mil/data_type.h"

namespace pippin::compress {

struct Encoding {
  enum class Form : uint8_t {
    Linear,   // codes, a scale and an offset per block
    Palette,  // indices, a palette per block
    Plain,    // the values themselves: only with pruning
  };

  Form form = Form::Linear;
  LinearFormat linear;  // Linear
  int bits = 4;         // Palette: 1, 2, 3, 4, 6 or 8
  // Palette: entries of this many values along the channel axis; one code represents them all.
  int cluster = 1;
  bool int8_lut = false;       // Palette: integer entries, with a scale per palette
  bool channel_scale = false;  // Palette: one-dimensional, times a scale per channel
  size_t channel_axis = 0;
  size_t input_axis = 0;  // axis of n:m pruning
  Dims blocks;            // per axis; each divides the weight's size
  int64_t kept = -1;      // number of elements that pruning keeps, the largest ones; -1: no pruning
  // Prunes the `ratio_n` smallest of every `ratio_m` elements along the input axis, instead of
  // globally.
  int64_t ratio_n = 0, ratio_m = 0;
  bool operator==(const Encoding&) const = default;

  // The type of a code.
  mil::DataType code_type() const;
  // The stored palettes per axis: with scales per channel, each channel has its own.
  Dims lut_blocks(const Dims& dims) const;
  bool has_lut_scale() const { return int8_lut || channel_scale; }
};

// The number of elements that n:m pruning sets to 0 in a group of `size` <= m elements.
int64_t pruned_of_group(int64_t n, int64_t m, int64_t size);

}  // namespace pippin::compress
