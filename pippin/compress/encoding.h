// How one weight is stored: everything that decides the sizes of its parts.
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
  // Palette: entries of so many values along the channel axis; then a code stands for them all.
  int cluster = 1;
  bool int8_lut = false;       // Palette: entries are integers, with a scale per palette
  bool channel_scale = false;  // Palette: of one dimension, times a scale per channel
  size_t channel_axis = 0;
  size_t input_axis = 0;  // n:m pruning goes along it
  Dims blocks;            // per axis; each divides the weight's
  int64_t kept = -1;      // elements that pruning leaves, the largest; -1: no pruning
  // Of every `ratio_m` elements along the input axis the `ratio_n` smallest become 0, not of all.
  int64_t ratio_n = 0, ratio_m = 0;
  bool operator==(const Encoding&) const = default;

  // Of one code.
  mil::DataType code_type() const;
  // Palettes as they are stored, per axis: where channels have scales each has its own.
  Dims lut_blocks(const Dims& dims) const;
  bool has_lut_scale() const { return int8_lut || channel_scale; }
};

// How many of a group of `size` <= m elements n:m pruning makes 0.
int64_t pruned_of_group(int64_t n, int64_t m, int64_t size);

}  // namespace pippin::compress
