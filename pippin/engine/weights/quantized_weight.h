// Compressed weights as the engine keeps them: the package's own bytes, described for the kernels
// of kernels/quantized_dot/.
//
// The constexpr_* ops of integers with scales and of palettes become a QuantizedWeight each; linear
// layers, pointwise convolutions, products and look-ups compute straight from it. Whatever else
// reads such a value gets it expanded to its declared type: once for all plans of a program that
// live at the same time.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pippin/engine/compute_options.h"
#include "pippin/kernels/blocks/blocks.h"
#include "pippin/kernels/quantized_dot/quantized_dot.h"
#include "pippin/mil/data_type.h"

namespace pippin::engine {

struct QuantizedWeight {
  // Rows are the first axis that is not 1 of a value of rank 3 and more, else the first; columns
  // all that follows it.
  kernels::QuantizedMatrix matrix{};
  mil::DataType type = mil::DataType::Float16;  // Float16 or Float32
  std::string form;                             // "int4", "palette of 4 bits"
  kernels::BytePalettes byte_palettes;          // what matrix.byte_palettes points to
  int64_t bytes = 0;                            // of codes, scales and palettes: read by a dot
  // Blocks of a file, which hold codes and scales: `matrix` says what they become when they are
  // unpacked (weights/block_rows.h), and its pointers are not to be read.
  std::optional<kernels::BlockMatrix> blocks = std::nullopt;
};

// All elements in row-major order in the declared type, on as many threads as pay.
std::vector<std::byte> expand_weight(const QuantizedWeight& weight, const CpuFeatures& cpu);

}  // namespace pippin::engine
