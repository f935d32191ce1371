#include "pippin/mx/loops/vector_product.h"

#include <algorithm>

#include "pippin/mx/core/convert.h"

namespace pippin::mx {

void multiply_vector(const VectorProductArgs& args) {
  constexpr int64_t kColumns = 256, kRows = 4;
  const auto item = static_cast<int64_t>(size_of(args.b_type));
  alignas(64) float sums[kColumns], converted[kRows][kColumns];
  const LoadFunction load = args.b_type == float32 ? nullptr : loader(args.b_type, Kind::F32);
  for (int64_t j = 0; j < args.n; j += kColumns) {
    const int64_t columns = std::min(kColumns, args.n - j);
    for (int64_t c = 0; c < columns; ++c) sums[c] = args.bias == nullptr ? 0 : args.bias[j + c];
    for (int64_t i = 0; i < args.k; i += kRows) {
      const float* rows[kRows];
      float factors[kRows];
      for (int64_t r = 0; r < kRows; ++r) {
        const int64_t row = std::min(i + r, args.k - 1);
        factors[r] = i + r < args.k ? args.x[row] : 0;
        const std::byte* from = args.b + (row * args.b_row + j) * item;
        if (load == nullptr) {
          rows[r] = reinterpret_cast<const float*>(from);
        } else {
          load(from, 1, converted[r], columns);
          rows[r] = converted[r];
        }
      }
      if (i + kRows <= args.k) {
        for (int64_t c = 0; c < columns; ++c) {
          sums[c] += factors[0] * rows[0][c] + factors[1] * rows[1][c] + factors[2] * rows[2][c] +
                     factors[3] * rows[3][c];
        }
      } else {  // the last rows: a repeated row may contain NaN
        for (int64_t r = 0; i + r < args.k; ++r) {
          for (int64_t c = 0; c < columns; ++c) sums[c] += factors[r] * rows[r][c];
        }
      }
    }
    std::copy(sums, sums + columns, args.y + j);
  }
}

}  // namespace pippin::mx
