#include "pippin/engine/weights/weight_stack.h"

namespace pippin::engine {

int64_t offset_bits(kernels::OffsetType type) {
  switch (type) {
    case kernels::OffsetType::I4:
    case kernels::OffsetType::U4:
      return 4;
    case kernels::OffsetType::F32:
      return 32;
    case kernels::OffsetType::F16:
    case kernels::OffsetType::BF16:
      return 16;
    default:
      return 8;
  }
}

std::optional<kernels::QuantizedMatrix> stacked_matrix(const QuantizedWeight& weight, int64_t count,
                                                       int64_t n, int64_t k) {
  kernels::QuantizedMatrix all = weight.matrix;
  if (weight.blocks || all.n != count || all.k != n * k) return std::nullopt;
  const int64_t columns = all.block_columns;
  if (all.block_rows == 1 && columns <= k && k % columns == 0) {
    all.blocks_per_row = k / columns;
  } else if (all.block_rows == 1 && columns % k == 0) {
    all.block_rows = columns / k;  // whole rows of an expert
    all.block_columns = k;
    all.blocks_per_row = 1;
  } else if (all.block_rows == count && columns == n * k) {
    all.block_rows = count * n;  // one for all
    all.block_columns = k;
    all.blocks_per_row = 1;
  } else {
    return std::nullopt;
  }
  if (all.block_rows > 1 && all.block_rows != count * n && n % all.block_rows != 0)
    return std::nullopt;
  all.n = count * n;
  all.k = k;
  // Every expert's codes and offsets begin on a byte boundary.
  const int64_t blocks = all.block_rows > n ? 0 : n / all.block_rows * all.blocks_per_row;
  if (all.first != 0 || all.first_block != 0 || n * k * all.bits % 8 != 0 ||
      (all.offsets != nullptr && blocks * offset_bits(all.offset_type) % 8 != 0)) {
    return std::nullopt;
  }
  return all;
}

}  // namespace pippin::engine
