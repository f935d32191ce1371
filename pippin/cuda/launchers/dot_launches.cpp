#include "pippin/cuda/launchers/dot_launches.h"

#include <algorithm>

#include "pippin/base/numbers/checked.h"

namespace pippin::cuda {
namespace {

constexpr int64_t kWarps = 4, kColumns = 2, kRows = 4;  // as in dot_fma.cuh

Kernel exact_kernel(MatrixForm form, bool one) {
  switch (form) {
    case MatrixForm::F32:
      return one ? Kernel::dot_f32_one : Kernel::dot_f32;
    case MatrixForm::F16:
      return one ? Kernel::dot_f16_one : Kernel::dot_f16;
    case MatrixForm::BF16:
      return one ? Kernel::dot_bf16_one : Kernel::dot_bf16;
    case MatrixForm::Int4:
      return one ? Kernel::dot_int4_one : Kernel::dot_int4;
    case MatrixForm::Int8:
      return one ? Kernel::dot_int8_one : Kernel::dot_int8;
    case MatrixForm::Palette4:
      return one ? Kernel::dot_palette4_one : Kernel::dot_palette4;
    case MatrixForm::Palette8:
      break;
  }
  return one ? Kernel::dot_palette8_one : Kernel::dot_palette8;
}

bool is_aligned(const void* data, int64_t stride_bytes, int64_t batch_bytes = 0) {
  return reinterpret_cast<uintptr_t>(data) % 16 == 0 && stride_bytes % 16 == 0 &&
         batch_bytes % 16 == 0;
}

}  // namespace

DotArgs dot_args(const DotRun& run, const MatrixFacts& facts, size_t first, int64_t columns,
                 int64_t rows) {
  DotArgs args{};
  const size_t count = std::min<size_t>(run.products.size() - first, DotArgs::kMostProducts);
  args.has_aligned_rows = run.k % 8 == 0;
  for (size_t i = 0; i < count; ++i) {
    DotProduct& product = args.products[i] = run.products[first + i];
    product.first_block = args.blocks;
    args.blocks += static_cast<int32_t>(ceil_div<int64_t>(product.n, columns));
    args.has_aligned_rows =
        args.has_aligned_rows && is_aligned(product.rows, product.row_bytes, run.w_batch_bytes);
  }
  args.num_products = static_cast<int32_t>(count);
  args.x = run.x;
  args.residual = run.residual;
  args.x_stride = run.x_stride;
  args.residual_stride = run.residual_stride;
  args.x_batch = run.x_batch;
  args.y_batch = run.y_batch;
  args.w_batch_bytes = run.w_batch_bytes;
  args.pairs = run.pairs;
  args.num_pairs = run.num_pairs;
  args.pairs_share_x = run.pairs_share_x;
  args.m = static_cast<int32_t>(run.m);
  args.k = static_cast<int32_t>(run.k);
  args.row_blocks = static_cast<int32_t>(ceil_div(run.m, rows));
  args.numbers = facts.numbers;
  args.has_aligned_x = run.k % 8 == 0 && is_aligned(run.x, run.x_stride * 4, run.x_batch * 4);
  return args;
}

int64_t num_blocks(const DotArgs& args, const DotRun& run) {
  return int64_t{args.blocks} * args.row_blocks * run.batches;
}

void add_exact_dot(const DotRun& run, const MatrixFacts& facts, std::vector<Launch>& launches) {
  const bool one = run.m == 1;
  const int64_t rows = one ? 1 : kRows;
  for (size_t first = 0; first < run.products.size(); first += DotArgs::kMostProducts) {
    const DotArgs args = dot_args(run, facts, first, kWarps * kColumns, rows);
    if (num_blocks(args, run) == 0) continue;
    launches.push_back(Launch::of(exact_kernel(facts.form, one), args, num_blocks(args, run),
                                  kWarps * 32, kWarps * kColumns * rows * 33 * 4));
  }
}

}  // namespace pippin::cuda
