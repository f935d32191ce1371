#include "pippin/cuda/launchers/dot_launches.h"

#include <algorithm>

#include "pippin/base/numbers/checked.h"

namespace pippin::cuda {
namespace {

// For one row, a few, many.
using RowKernels = Kernel[3];
#define PIPPIN_BY_ROWS(form) \
  { Kernel::dot_##form##_one, Kernel::dot_##form, Kernel::dot_##form##_many }
constexpr RowKernels kExact[] = {
    PIPPIN_BY_ROWS(f32),  PIPPIN_BY_ROWS(f16),      PIPPIN_BY_ROWS(bf16),     PIPPIN_BY_ROWS(int4),
    PIPPIN_BY_ROWS(int8), PIPPIN_BY_ROWS(palette4), PIPPIN_BY_ROWS(palette8), PIPPIN_BY_ROWS(e4m7)};
#undef PIPPIN_BY_ROWS

bool is_aligned(const void* data, int64_t stride_bytes, int64_t batch_bytes = 0) {
  return reinterpret_cast<uintptr_t>(data) % 16 == 0 && stride_bytes % 16 == 0 &&
         batch_bytes % 16 == 0;
}

}  // namespace

bool is_aligned_x(const DotRun& run) {
  return run.k % 8 == 0 && is_aligned(run.x, run.x_stride * 4, run.x_batch * 4);
}

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
  args.is_computed = run.is_computed;
  args.pairs = run.pairs;
  args.num_pairs = run.num_pairs;
  args.pairs_share_x = run.pairs_share_x;
  args.m = static_cast<int32_t>(run.m);
  args.k = static_cast<int32_t>(run.k);
  args.row_blocks = static_cast<int32_t>(ceil_div(run.m, rows));
  args.numbers = facts.numbers;
  args.has_aligned_x = is_aligned_x(run);
  return args;
}

void take_gate(DotArgs& args, int64_t columns) {
  args.num_products = 1;
  args.blocks = static_cast<int32_t>(ceil_div<int64_t>(args.products[0].n, columns));
}

int64_t num_blocks(const DotArgs& args, const DotRun& run) {
  return int64_t{args.blocks} * args.row_blocks * run.batches;
}

DotWay dot_way(const MatrixFacts& facts, int64_t k, const LauncherSource& source) {
  if (source.is_exact()) return DotWay::Exact;
  if (takes_rounded(facts)) return DotWay::Rounded;
  const bool has_halves = facts.form == MatrixForm::F16 || facts.form == MatrixForm::BF16 ||
                          facts.form == MatrixForm::E4M7;
  return has_halves && k % 8 == 0 && source.limits.has_tensor_cores() ? DotWay::Halves
                                                                      : DotWay::Exact;
}

int64_t dot_scratch(DotWay way, int64_t m, int64_t k, int64_t batches) {
  switch (way) {
    case DotWay::Exact:
      return 0;
    case DotWay::Rounded:
      return rounded_bytes(m, k, batches);
    case DotWay::Halves:
      return halves_bytes(m, k, batches);
  }
  return 0;
}

void add_dot(DotWay way, const DotRun& run, const MatrixFacts& facts, const Limits& limits,
             std::byte* scratch, std::vector<Launch>& launches) {
  const bool is_empty = run.m == 0 || run.k == 0 || run.batches == 0;
  if (!is_empty && way == DotWay::Rounded) {
    return add_rounded_dot(run, facts, limits, {}, scratch, launches);
  }
  if (!is_empty && way == DotWay::Halves && add_halves_dot(run, facts, {}, scratch, launches)) {
    return;
  }
  add_exact_dot(run, facts, launches);
}

void add_exact_dot(const DotRun& run, const MatrixFacts& facts, std::vector<Launch>& launches) {
  // As in dot_fma.cuh and dot_fma_many.cuh.
  struct Shape {
    int64_t columns, rows;
    unsigned threads;
    size_t shared_bytes;
  };
  constexpr Shape kShapes[] = {{4 * 2, 1, 128, 4 * 2 * 33 * 4},
                               {4 * 2, 4, 128, 4 * 2 * 4 * 33 * 4},
                               {128, 64, 256, 2 * 8 * (128 + 64) * 4}};
  constexpr int64_t kFewRows = 16;
  const size_t which = run.m == 1 ? 0 : run.m <= kFewRows ? 1 : 2;
  const Shape& shape = kShapes[which];
  for (size_t first = 0; first < run.products.size(); first += DotArgs::kMostProducts) {
    const DotArgs args = dot_args(run, facts, first, shape.columns, shape.rows);
    if (num_blocks(args, run) == 0) continue;
    launches.push_back(Launch::of(kExact[static_cast<size_t>(facts.form)][which], args,
                                  num_blocks(args, run), shape.threads, shape.shared_bytes));
  }
}

}  // namespace pippin::cuda
