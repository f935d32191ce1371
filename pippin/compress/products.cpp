#include "pippin/compress/products.h"

#include "pippin/base/cpu_features.h"
#include "pippin/compress/x86_blocks.h"

namespace pippin::compress {

void add_products(const float* factors, const float* rows, size_t stride, size_t num_rows,
                  size_t count, float* sums) noexcept {
#if defined(__x86_64__)
  const CpuFeatures& cpu = cpu_features();
  if (cpu.avx512) return avx512_add_products(factors, rows, stride, num_rows, count, sums);
  if (cpu.avx2) return avx2_add_products(factors, rows, stride, num_rows, count, sums);
#endif
  for (size_t row = 0; row < num_rows; ++row) {
    const float factor = factors[row];
    const float* from = rows + row * stride;
    for (size_t j = 0; j < count; ++j) sums[j] += factor * from[j];
  }
}

}  // namespace pippin::compress
