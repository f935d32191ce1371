// The arguments of products: dot_fma.cuh, dot_row.cuh, dot_tiles.cuh, and of dot_gather.cuh.
#pragma once

#include <cstdint>

namespace pippin::cuda {

// The layout of a matrix W [n, k] in memory. A unit is 32 columns, a group 8.
//
//   F32, F16, BF16   as stored, rows row_bytes apart
//   Int4             16 bytes for each unit, the even columns in the low nibbles; two's complement
//   Int8             the even columns of all units of a row, then the odd ones: 16 bytes for each
//   Palette4         as Int4, but codes of a palette
//   Palette8         a byte for each column, in order
//   E4M7             the low bytes of all groups of a row, then their high nibbles: of a group
//                    bytes of columns 0 2 1 3 4 6 5 7, nibbles of columns 0 2 4 6 1 3 5 7. A number
//                    s eeee mmmmmmm, of the value of fp16 s 0eeee mmmmmmm000 times the row's scale
//
// Rows of codes are padded to whole units (Palette8: to 16 bytes).
enum class MatrixForm : int32_t { F32, F16, BF16, Int4, Int8, Palette4, Palette8, E4M7 };

// Of Int4 and Int8: value = code * scale + shift, with a scale and a shift for each group, two or
// four groups of a row. Either in fp32, or in fp16, where shift = stored shift * scale. Rows of
// numbers are per_row apart, a multiple of 8 that has zeros behind the row's own. Of palettes: fp32
// tables of 16 or 256 entries, each for table_rows rows. Of E4M7: an fp32 scale for each row; as
// shifts, E4M7Exceptions.
struct MatrixNumbers {
  int32_t per_row = 0;
  int32_t group_shift = 0;  // of a group's index, to that of its numbers
  int32_t table_rows = 1;
  bool is_float = false;
  bool has_shifts = false;
};

// The weights of an E4M7 matrix that its codes cannot represent, whose codes are 0: an array of
// uint32, where entries j and j + 1 delimit those of row j, counted in 8 bytes from the array's
// begin.
struct E4M7Exception {
  uint32_t column;
  float value;
};

struct DotProduct {
  const unsigned char* rows;  // of W
  const void* scales;         // or tables
  const void* shifts;         // or exceptions
  const float* bias;          // or null
  float* y;
  int64_t row_bytes, y_stride;
  int32_t n, first_block;  // the product's blocks begin at that one
};

// y = x · Wᵀ + bias + residual for some matrices W of one form. The blocks are numbered in the
// order batch, columns of all products, rows of x.
//
// With pairs: batch i is row pairs[i].row of x times matrix pairs[i].expert of a stack, below
// *num_pairs.
struct ExpertPair {
  int32_t row, expert;
  float weight;
};
struct DotArgs {
  static constexpr int kMostProducts = 4;
  DotProduct products[kMostProducts];
  const float* x;
  const float* residual;         // or null
  const unsigned char* rounded;  // x, by round_rows; null: blocks round it
  const ExpertPair* pairs;       // or null
  const int32_t* num_pairs;
  bool pairs_share_x;  // else x has a row for each pair
  int64_t x_stride, residual_stride;
  int64_t x_batch, y_batch, w_batch_bytes;  // between batches; x and y in elements
  int32_t num_products, blocks;             // of all columns
  int32_t m, k;
  int32_t row_blocks;  // of x
  MatrixNumbers numbers;
  bool has_aligned_x, has_aligned_rows;  // to 16 bytes, in whole groups
  bool is_computed;                      // W
};

// Rows of x in 8 bits (dot_round.cuh) or in two numbers of 16 bits (round_halves.cuh), each made by
// so many blocks; normalized first, if they must be.
struct RoundArgs {
  const float* x;
  unsigned char* to;
  const float* gamma;  // of the norm, or null
  int64_t x_stride, x_batch;
  int32_t m, k, parts;
  float epsilon;
  bool has_norm, has_aligned_x;
  bool in_fragments;  // 8 bits
  bool is_bf16;       // two numbers
};

// y[i] = the row of W that indices[i] names; from the end if it is negative, the nearest if it is
// outside.
struct RowGatherArgs {
  const unsigned char* rows;
  const void* scales;
  const void* shifts;
  const int32_t* indices;
  float* y;
  int64_t row_bytes, y_stride, index_stride;
  int32_t n, k, count;
  MatrixForm form;
  MatrixNumbers numbers;
};

}  // namespace pippin::cuda
