// Linear quantization of one block of weights: w ~ (q - offset) * scale, with q in a few bits.
//
// The scale is the one with the smallest squared error among several starting points (the largest
// magnitude at either end of the integers, and ranges in which outliers saturate), each improved by
// least squares and evaluated as stored in the file: rounded to fp16 if the scale is fp16. A
// symmetric scale may be negative: the largest magnitude then uses the additional step on the
// negative side (-8 of -8..7).
#pragma once

#include <cstdint>
#include <span>

#include "pippin/mil/data_type.h"

namespace pippin::compress {

struct LinearFormat {
  mil::DataType data = mil::DataType::Int8;      // Int4 UInt4 Int8 UInt8
  bool symmetric = true;                         // the offset is 0, or the middle of unsigned types
  mil::DataType scale = mil::DataType::Float16;  // or Float32
  bool operator==(const LinearFormat&) const = default;

  int lowest() const;
  int highest() const;
  int middle() const;  // the offset of a symmetric format
};

struct LinearScale {
  float scale = 1;
  int offset = 0;
};

// `values` are finite; `weights` (empty: all 1) are the importance of each.
LinearScale choose_scale(std::span<const float> values, std::span<const float> weights,
                         const LinearFormat& format);

// The fractions of the range of a block of `size` values that the starting points cover, the whole
// range first: with few levels and many values, a few outliers may saturate.
std::span<const float> shares_of_range(const LinearFormat& format, size_t size);

// codes[i] = the integer of values[i], as the low bits of a byte (two's complement). Returns the
// sum of the squared errors.
double encode_linear(std::span<const float> values, const LinearScale& scale,
                     const LinearFormat& format, uint8_t* codes);

}  // namespace pippin::compress
