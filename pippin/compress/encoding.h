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
  Dims blocks;          // per axis; each divides the weight's
  int64_t kept = -1;    // elements that pruning leaves, the largest; -1: no pruning
  bool operator==(const Encoding&) const = default;

  // Of one code.
  mil::DataType code_type() const;
};

}  // namespace pippin::compress
