// Compressed weights in the engine: the package's own bytes, described for the kernels of
// kernels/quantized_dot/.
//
// The constexpr_* ops of integers with scales and of palettes become a QuantizedWeight each; linear
// layers, pointwise convolutions, products and look-ups compute straight from it. Other readers of
// such a value get it expanded to its declared type: once for all plans of a program that live at
// the same time.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pippin/engine/compute_options.h"
#include "pippin/kernels/ggml_blocks/ggml_blocks.h"
#include "pippin/kernels/quantized_dot/quantized_dot.h"
#include "pippin/mil/data_type.h"

namespace pippin::engine {

struct QuantizedWeight {
  // Rows are the first axis that is not 1 for a value of rank 3 and more, else the first; columns
  // are all further axes.
  kernels::QuantizedMatrix matrix{};
  mil::DataType type = mil::DataType::Float16;  // Float16 or Float32
  std::string form;                             // "int4", "palette of 4 bits"
  kernels::BytePalettes byte_palettes;          // the memory of matrix.byte_palettes
  int64_t bytes = 0;                            // of codes, scales and palettes: read by a dot
  // Blocks of a file, which hold codes and scales: `matrix` describes their unpacked form
  // (weights/block_rows.h), and its pointers must not be read.
  std::optional<kernels::GgmlMatrix> blocks = std::nullopt;
};

// All elements in row-major order in the declared type, on as many threads as pays off.
std::vector<std::byte> expand_weight(const QuantizedWeight& weight, const CpuFeatures& cpu);

}  // namespace pippin::engine
