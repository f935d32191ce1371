// Rows of a matrix of any form, by index.
#pragma once

#include "pippin/cuda/kernels/dot_weights.cuh"

namespace pippin::cuda {

template <MatrixForm F>
DEVICE void gather_row(const RowGatherArgs& a, int64_t i, int64_t row) {
  const WeightRow<F> from(a.rows, a.row_bytes, a.scales, a.shifts, a.numbers, row, row, a.k, false,
                          false);
  float* const y = a.y + i * a.y_stride;
  for (int group = thread_index(); group * 8 < a.k; group += block_threads()) {
    const Eight e = from.values(from.load(group, a.numbers));
    UNROLL
    for (int b = 0; b < 8; ++b) {
      if (group * 8 + b < a.k) y[group * 8 + b] = e.v[b];
    }
  }
}

// A block for each index.
DEVICE void gather_rows_body(const RowGatherArgs& a) {
  const int64_t i = blockIdx.x;
  int64_t row = a.indices[i * a.index_stride];
  if (row < 0) row += a.n;
  row = row < 0 ? 0 : row >= a.n ? a.n - 1 : row;
  switch (a.form) {
    case MatrixForm::F32:
      return gather_row<MatrixForm::F32>(a, i, row);
    case MatrixForm::F16:
      return gather_row<MatrixForm::F16>(a, i, row);
    case MatrixForm::BF16:
      return gather_row<MatrixForm::BF16>(a, i, row);
    case MatrixForm::Int4:
      return gather_row<MatrixForm::Int4>(a, i, row);
    case MatrixForm::Int8:
      return gather_row<MatrixForm::Int8>(a, i, row);
    case MatrixForm::Palette4:
      return gather_row<MatrixForm::Palette4>(a, i, row);
    case MatrixForm::Palette8:
      return gather_row<MatrixForm::Palette8>(a, i, row);
    case MatrixForm::E4M7:
      return;  // of products alone
  }
}

}  // namespace pippin::cuda
