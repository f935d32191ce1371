#include "pippin/kernels/rows/rows.h"

namespace pippin::kernels {
namespace {

constexpr Listed<RowsKernels> kKernels[] = {
#define PIPPIN_ROWS(flag, name) {&(name), &CpuFeatures::flag},
#include "pippin/kernels/rows/kernels.inc"
#undef PIPPIN_ROWS
};

}  // namespace

std::span<const Listed<RowsKernels>> rows_kernels() {
  return kKernels;
}

const RowsKernels& choose_rows(const CpuFeatures& cpu) {
  return choose("rows", rows_kernels(), cpu);
}

}  // namespace pippin::kernels
