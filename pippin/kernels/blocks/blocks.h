// Weights in GGUF's blocks: 32 or 256 columns of a row with their codes and scales side by side,
// the scales of the larger ones themselves in 4 to 8 bits under an fp16 scale of the block (ggml's
// quantize_row_*_ref). They are unpacked a few rows at a time into bytes with fp32 scales, which
// stay in a cache while quantized_dot/ multiplies them: what is read from memory is the file's own
// bits. For one row of activations, which is all that a token has, some are multiplied as they are
// read, in registers.
//
// Promise: every kernel gives the same codes, scales and offsets, to the bit, and products have the
// bits of those of the unpacked rows.
#pragma once

#include <optional>
#include <string_view>

#include "pippin/kernels/blocks/args.h"
#include "pippin/kernels/kernel.h"

namespace pippin::kernels {

struct BlockForm {
  BlockType type;
  std::string_view name;  // "q4_k"
  int64_t columns, bytes;
  int64_t group;  // columns that share a scale: 16 or 32
  int code_bits;  // 4 or 8: the fewer that hold its codes
  bool is_signed, has_offsets;
};

// All types, in the order of BlockType.
std::span<const BlockForm> block_forms();
const BlockForm& block_form(BlockType type);

int64_t row_bytes(const BlockMatrix& w);
const uint8_t* row_of(const BlockMatrix& w, int64_t i);

// Every table that this build has, best first.
std::span<const Listed<BlockKernels>> block_kernels();
// The first table that `cpu` can run.
const BlockKernels& choose_blocks(const CpuFeatures& cpu);

}  // namespace pippin::kernels
