// Stacked compressed weights: several matrices in one.
#pragma once

#include <cstdint>
#include <optional>

#include "pippin/engine/weights/quantized_weight.h"

namespace pippin::engine {

// Bits of one offset.
int64_t offset_bits(kernels::OffsetType type);

// A weight that is kept as a matrix of `count` rows with n * k columns, as one of count * n rows
// with k columns; nothing if its blocks are neither parts of rows of the matrices nor whole rows.
std::optional<kernels::QuantizedMatrix> stacked_matrix(const QuantizedWeight& weight, int64_t count,
                                                       int64_t n, int64_t k);

}  // namespace pippin::engine
