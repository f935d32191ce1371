#include "pippin/compress/input_statistics.h"

#include <algorithm>

#include "pippin/compress/kernels_here.h"

namespace pippin::compress {

void add_inputs(InputMoments& moments, const float* inputs, int64_t count, ThreadPool& pool) {
  constexpr int64_t kRows = 16, kInputs = 64;
  const int64_t size = moments.size;
  for (int64_t first = 0; first < count; first += kInputs) {
    const int64_t some = std::min(kInputs, count - first);
    const float* from = inputs + first * size;
    const auto add_part = [&](int part, int parts) {
      float factors[kInputs];
      // Rows get shorter: the threads process them in turn.
      for (int64_t start = part * kRows; start < size; start += parts * kRows) {
        for (int64_t i = start; i < std::min(size, start + kRows); ++i) {
          for (int64_t t = 0; t < some; ++t) factors[t] = from[t * size + i];
          kernels_here().add_products(factors, from + i, size, some, size - i,
                                      moments.products.data() + i * size + i);
        }
      }
    };
    // For a small matrix, waking threads takes longer than the work.
    if (size < 256) {
      add_part(0, 1);
    } else {
      pool.run(add_part);
    }
  }
  moments.samples += count;
}

}  // namespace pippin::compress
