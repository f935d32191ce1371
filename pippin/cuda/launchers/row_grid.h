// The grid of kernels on rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "pippin/cuda/kernels/rows_args.h"
#include "pippin/cuda/launchers/launch.h"
#include "pippin/engine/run/step.h"

namespace pippin::cuda {

// y [m, n] or [m], x [m, n].
inline RowsArgs rows_args(const engine::Operand& y, const engine::Operand& x) {
  constexpr int64_t kMostOfWarp = 512;
  RowsArgs rows{};
  rows.y_stride = y.strides[0];
  rows.x_stride = x.strides[0];
  rows.rows = x.shape[0];
  rows.columns = x.shape[1];
  rows.by_warps = rows.columns <= kMostOfWarp;
  return rows;
}

// Whether all rows begin at multiples of 16 bytes.
inline bool has_vectors(const void* data, int64_t stride, int64_t rows) {
  return reinterpret_cast<uintptr_t>(data) % 16 == 0 && (rows == 1 || stride % 4 == 0);
}

// A launch for all rows; a thread for four columns where rows have blocks, if there are so many.
template <typename Args>
Launch row_launch(Kernel kernel, const Args& args) {
  constexpr int64_t kWarps = 4, kColumns = 4 * 32;  // of a warp
  constexpr size_t kSharedBytes = 3 * 32 * sizeof(double);
  const RowsArgs& rows = args.rows;
  if (rows.by_warps) {
    const int64_t warps = std::min(rows.rows, kWarps);
    return Launch::of(kernel, args, (rows.rows + warps - 1) / warps,
                      static_cast<unsigned>(warps * 32), kSharedBytes);
  }
  const int64_t warps =
      std::clamp<int64_t>((rows.columns + kColumns - 1) / kColumns, 2, most_threads(kernel) / 32);
  return Launch::of(kernel, args, rows.rows, static_cast<unsigned>(warps * 32), kSharedBytes);
}

}  // namespace pippin::cuda
