// The arguments of quantized_dot.h and the tables of kernels.inc. Included by files that are
// compiled for one instruction set: no inline functions here.
#pragma once

#include <cstdint>

#include "pippin/kernels/dot/args.h"

namespace pippin::kernels {

// Storage types of the blocks' offsets.
enum class OffsetType : uint8_t { None, F32, F16, BF16, I8, U8, I4, U4 };

// A matrix W[n, k] as stored by Core ML, read in place: small codes in one little-endian bit
// stream, the first code in the least significant bits. Every block of block_rows x block_columns
// elements has its own scale (and offset), or its own palette:
//
//   value = (code - offset[block]) * scale[block]      or      value = palettes[block][code]
//   block of (i, j) = first_block + (i / block_rows) * blocks_per_row + j / block_columns
struct QuantizedMatrix {
  const uint8_t* codes;
  int64_t first;  // index in the stream of the element (0, 0)
  int64_t n, k;
  int bits;        // 4, 8; with palettes 1, 2, 3, 4, 6, 8
  bool is_signed;  // two's complement codes; never with palettes
  int64_t block_rows, block_columns, blocks_per_row, first_block;

  const void* scales;  // null: palettes
  WeightType scale_type;
  const void* offsets;
  OffsetType offset_type;
  bool scaled_offsets;  // offsets of a float type are already scaled: value = code * scale - offset

  const void* palettes;  // 2^bits values each
  WeightType palette_type;
  // The palettes rounded to 16 bits for fast dots, see make_byte_palettes(); null: not available.
  const uint8_t* byte_palettes;
  const float* byte_scales;  // one for each palette
};

// Activations in 8 bits with a scale for every `unit` columns:
//   x[i, j] ~ values[i, j] * scales[i, j / unit]
// Rows are padded with zeros to `padded` columns.
//
// Order of the values: Natural is unchanged. Split has the even columns of every 128 before the odd
// ones, which matches the low and high halves of 64 bytes of 4-bit codes.
//
// A unit of 32 has 16 columns and the 16 columns that start `behind` columns after them: 16, or
// more if rows of W have one scale, so that neighbouring registers of bytes have the same units.
enum class ValueOrder : uint8_t { Natural, Split };
struct QuantizedRows {
  int64_t m, k, padded;
  int64_t unit;    // 16 or 32
  int64_t block;   // columns of a block sum, as in W's blocks; 0: no block sums
  int64_t behind;  // 16, 32 or 64
  ValueOrder order;
  int64_t repeat;  // how often a unit's numbers are repeated: once for each lane that uses them
  int32_t center;  // the excess of the kernel's unsigned codes over the true ones
  // The values of rows 2i and 2i + 1 alternate, eight at a time. An odd last row is paired with a
  // row of arbitrary values.
  bool row_pairs;
  int8_t* values;
  float* scales;      // [m, padded / unit, repeat]
  float* sums;        // [m, padded / unit, repeat]: the sum of a unit's values times its scale
  int32_t* starts;    // [m, padded / unit, repeat]: -center times the sum of a unit's values
  float* block_sums;  // [m, padded / unit]: each block's sum over its units, then zeros
  float* totals;      // [m]: the total of a row's sums
};

// y[i, j] for all rows i of x and the columns j in [n_begin, n_end), as in DotArgs.
struct QuantizedDotArgs {
  const QuantizedMatrix* w;
  const QuantizedRows* x;
  const float* bias;  // for column 0; or null
  float* y;           // for row 0, column 0
  int64_t y_stride;
  int64_t n_begin, n_end;
  void* scratch;  // quantized_dot_scratch_bytes(), aligned to 64
};

struct QuantizedDotKernels {
  const char* name;
  // Expands the elements [begin, end) of row i of W to fp32.
  void (*expand)(const QuantizedMatrix& w, int64_t i, int64_t begin, int64_t end,
                 float* y) noexcept;
  // Fills `to` from rows [begin, end) of x.
  void (*quantize)(const float* x, int64_t x_stride, int64_t begin, int64_t end,
                   const QuantizedRows& to) noexcept;
  // Requires can_dot() of the matrix, and x in the form of quantized_form().
  void (*dot)(const QuantizedDotArgs& args) noexcept;
  // Up to this many rows are multiplied with W while it is read, in registers; for more, pieces of
  // W are first laid out in the first-level cache. The results are the same. Of bytes, of codes of
  // 4 bits, of palettes.
  int64_t few_rows, few_nibble_rows, few_palette_rows;
  // Codes are multiplied as signed bytes: minus 128 if they are unsigned, and palette entries
  // unchanged.
  bool signed_bytes = false;
  // More than few_rows rows use QuantizedRows::row_pairs.
  bool row_pairs = false;
  // QuantizedRows::behind for rows of W that have one scale, or a palette, unless codes have 4 bits
  // or offsets are scaled.
  int64_t behind = 16;
};

#define PIPPIN_QUANTIZED_DOT(flag, name) extern const QuantizedDotKernels name;
#include "pippin/kernels/quantized_dot/kernels.inc"
#undef PIPPIN_QUANTIZED_DOT

}  // namespace pippin::kernels
