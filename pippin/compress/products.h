// The one loop that calibration spends its time in, for the CPU at hand.
#pragma once

#include <cstddef>

namespace pippin::compress {

// sums[j] += factors[0] * rows[j] + factors[1] * rows[stride + j] + ..., for j < count and
// `num_rows` rows.
void add_products(const float* factors, const float* rows, size_t stride, size_t num_rows,
                  size_t count, float* sums) noexcept;

}  // namespace pippin::compress
