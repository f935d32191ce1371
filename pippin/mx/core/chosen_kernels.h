// The project's kernels for this processor.
#pragma once

#include "pippin/kernels/elementwise/elementwise.h"
#include "pippin/kernels/rows/rows.h"

namespace pippin::mx {

inline const kernels::ElementwiseKernels& elementwise_kernels() {
  static const auto& table = kernels::choose_elementwise(cpu_features());
  return table;
}

inline const kernels::RowsKernels& row_kernels() {
  static const auto& table = kernels::choose_rows(cpu_features());
  return table;
}

}  // namespace pippin::mx
