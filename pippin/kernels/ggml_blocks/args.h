// The arguments of ggml_blocks.h and the tables of kernels.inc. Included by files that are compiled
// for one instruction set: no inline functions here.
#pragma once

#include <cstdint>

#include "pippin/kernels/quantized_dot/args.h"

namespace pippin::kernels {

enum class GgmlType : uint8_t {
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
  // These and those below have no vector kernels (grids.h).
  Iq2Xxs,
  Iq2Xs,
  Iq2S,
  Iq3Xxs,
  Iq3S,
  Iq1S,
  Iq1M,
  Tq10,
  Tq20,
  Nvfp4,
};

// The contents of blocks, with a number per group of columns:
//   value = code * scale - offset
// Codes are bytes: two's complement if the type's are signed.
struct UnpackArgs {
  const uint8_t* blocks;
  int64_t count;
  // If not null, prefetched meanwhile: the same number of bytes, to be read next.
  const uint8_t* next;
  uint8_t* codes;
  float* scales;
  float* offsets;  // for types that have offsets
};

// W[n, k]; its row i is row rows[i] of the file, or row i.
struct GgmlMatrix {
  GgmlType type;
  const uint8_t* bytes;
  int64_t n, k;         // k is a multiple of the type's columns
  const int64_t* rows;  // null: in order
};

// y[j] for the columns j in [n_begin, n_end) and one row of x.
struct GgmlDotArgs {
  const GgmlMatrix* w;
  const QuantizedRows* x;
  const float* bias;  // for column 0; or null
  float* y;           // for column 0
  int64_t n_begin, n_end;
};

struct GgmlBlockKernels {
  const char* name;
  void (*unpack)(GgmlType type, const UnpackArgs& args) noexcept;
  // Multiplies blocks directly while reading them, with the same bits as quantized_dot/ on unpacked
  // blocks. Returns false without doing anything for types and numbers of columns that it does not
  // support; null: it supports none.
  bool (*dot_row)(const GgmlDotArgs& args) noexcept = nullptr;
};

#define PIPPIN_GGML_BLOCKS(flag, name) extern const GgmlBlockKernels name;
#include "pippin/kernels/ggml_blocks/kernels.inc"
#undef PIPPIN_GGML_BLOCKS

}  // namespace pippin::kernels
