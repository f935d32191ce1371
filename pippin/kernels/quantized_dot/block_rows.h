// The first block of a row of W. Included by files that are compiled for one instruction set.
#pragma once

#include "pippin/kernels/quantized_dot/args.h"
#include "pippin/kernels/vec/inline.h"

namespace pippin::kernels {
namespace {

// i / block_rows. A division takes as long as multiplying several registers, and this is nearly
// always a power of two.
PIPPIN_VEC int64_t block_row(const QuantizedMatrix& w, int64_t i) {
  const auto rows = static_cast<uint64_t>(w.block_rows);
  if ((rows & (rows - 1)) == 0) return i >> __builtin_ctzll(rows);
  return i / w.block_rows;
}

PIPPIN_VEC int64_t first_block(const QuantizedMatrix& w, int64_t i) {
  return w.first_block + block_row(w, i) * w.blocks_per_row;
}

}  // namespace
}  // namespace pippin::kernels
