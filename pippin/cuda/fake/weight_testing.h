// Random compressed weights of all kinds.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pippin/engine/weights/e4m7_weight.h"
#include "pippin/engine/weights/quantized_weight.h"

namespace pippin::cuda {

// One way to compress a matrix.
struct WeightCase {
  std::string name;
  int bits = 4;
  bool is_signed = true, has_palettes = false;
  int64_t block_rows = 1, block_columns = 32;  // 0: all of them
  kernels::WeightType type = kernels::WeightType::F16;
  kernels::OffsetType offsets = kernels::OffsetType::None;
  bool scaled_offsets = false;
  int64_t first = 0;      // elements before the matrix
  std::string ggml = {};  // that form instead
};
const std::vector<WeightCase>& weight_cases();

// Null if the case does not fit the size.
std::shared_ptr<const engine::QuantizedWeight> random_weight(const WeightCase& one, int64_t n,
                                                             int64_t k, uint32_t seed);

// A weight of 12 bits, made of numbers of 8 significant bits in that type; some rows have outliers.
std::shared_ptr<const engine::E4M7Weight> random_narrow(kernels::WeightType type, int64_t n,
                                                        int64_t k, uint32_t seed);

}  // namespace pippin::cuda
