// Weights in GGUF's blocks: 32, 64 or 256 columns of a row, with their codes and scales together;
// in the larger blocks the scales themselves have 4 to 8 bits and an fp16 scale per block (ggml's
// quantize_row_*_ref). They are unpacked a few rows at a time into bytes with fp32 scales, which
// stay in a cache while quantized_dot/ multiplies them: only the file's own bits are read from
// memory. For one row of activations (one token), some types are multiplied directly, in registers.
//
// Promise: every kernel gives bitwise the same codes, scales and offsets, and products have the
// same bits as those of the unpacked rows.
#pragma once

#include <optional>
#include <string_view>

#include "pippin/kernels/ggml_blocks/args.h"
#include "pippin/kernels/kernel.h"

namespace pippin::kernels {

struct GgmlForm {
  GgmlType type;
  std::string_view name;  // "q4_k"
  int64_t columns, bytes;
  int64_t group;  // number of columns that share a scale: 16 or 32
  int code_bits;  // 4 or 8: the smallest that holds its codes
  bool is_signed, has_offsets;
};

// All types, in the order of GgmlType.
std::span<const GgmlForm> ggml_forms();
const GgmlForm& ggml_form(GgmlType type);

int64_t row_bytes(const GgmlMatrix& w);
const uint8_t* row_of(const GgmlMatrix& w, int64_t i);

// The tables in this build, best first.
std::span<const Listed<GgmlBlockKernels>> ggml_kernels();
// Returns the first table that `cpu` can run.
const GgmlBlockKernels& choose_blocks(const CpuFeatures& cpu);

}  // namespace pippin::kernels
