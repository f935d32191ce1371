// Rows of quantized caches: the keys or the values of one token in one head.
//
// A row of `dims` values has a scale in fp16 for each group of them. A value is scale * code:
//
//   Q8   a byte per value, codes -127 to 127
//   Q4   half a byte per value, codes -7 to 7 stored as code + 8: byte i has value i in its low half
//        and value i + dims / 2 in its high half
//
// A scale is the smallest number of fp16 that reaches the group's largest magnitude, so no code is
// clipped. A group with an infinity, a NaN or a magnitude beyond that reads as NaN.
#pragma once

#include <cstdint>

#include "pippin/kernels/attention/args.h"

namespace pippin::kernels {

// Whether the type is quantized.
constexpr bool has_codes(CacheType cache) {
  return cache == CacheType::Q8 || cache == CacheType::Q4;
}

// Values per scale: 64 (Q8) or 32 if they divide a row, else 32, else the whole row.
int64_t code_group(CacheType cache, int64_t dims);
// The bytes of a row's codes; 0 if the type cannot store rows of that size.
int64_t code_bytes(CacheType cache, int64_t dims);

// Writes a row's codes and scales.
void write_codes(CacheType cache, const float* row, int64_t dims, uint8_t* codes, uint16_t* scales);
// Value i of a row.
float read_code(CacheType cache, const uint8_t* codes, const uint16_t* scales, int64_t group,
                int64_t dims, int64_t i);

// Multiplies blocks of the row with a Hadamard matrix divided by the root of its size, which is its
// own inverse: spreads outliers over a block. Products of two rotated rows are those of the rows.
// Blocks have the largest power of two that divides `dims`.
void rotate_row(float* row, int64_t dims);

}  // namespace pippin::kernels
