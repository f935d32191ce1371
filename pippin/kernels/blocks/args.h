// The arguments of blocks.h and the tables of kernels.inc. Included by files that are compiled for
// one instruction set: no inline functions here.
#pragma once

#include <cstdint>

#include "pippin/kernels/quantized_dot/args.h"

namespace pippin::kernels {

enum class BlockType : uint8_t {
  Q80,
  Q40,
  Q41,
  Q50,
  Q51,
  Iq4Nl,
  Iq4Xs,
  Mxfp4,
  Q2K,
  Q3K,
  Q4K,
  Q5K,
  Q6K,
};

// What blocks hold, a number for each group of columns:
//   value = code * scale - offset
// Codes are bytes: two's complement where the type's are signed.
struct UnpackArgs {
  const uint8_t* blocks;
  int64_t count;
  // Fetched meanwhile, if it is not null: as many bytes, which will be read next.
  const uint8_t* next;
  uint8_t* codes;
  float* scales;
  float* offsets;  // of types that have them
};

// W[n, k] whose row i is the file's row rows[i], or i.
struct BlockMatrix {
  BlockType type;
  const uint8_t* bytes;
  int64_t n, k;         // k is a multiple of the type's columns
  const int64_t* rows;  // null: in order
};

// y[j] for the columns j of [n_begin, n_end) and one row of x.
struct BlockDotArgs {
  const BlockMatrix* w;
  const QuantizedRows* x;
  const float* bias;  // or null; of column 0
  float* y;           // of column 0
  int64_t n_begin, n_end;
};

struct BlockKernels {
  const char* name;
  void (*unpack)(BlockType type, const UnpackArgs& args) noexcept;
  // Multiplies blocks as they are read, with the bits that quantized_dot/ gives once they are
  // unpacked. False, and nothing is done, for types and numbers of columns that it does not know;
  // null: it knows none.
  bool (*dot_row)(const BlockDotArgs& args) noexcept = nullptr;
};

#define PIPPIN_BLOCKS(flag, name) extern const BlockKernels name;
#include "pippin/kernels/blocks/kernels.inc"
#undef PIPPIN_BLOCKS

}  // namespace pippin::kernels
