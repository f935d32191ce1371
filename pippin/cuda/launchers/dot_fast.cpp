// Products with x in 8 bits.
#include "pippin/base/numbers/checked.h"
#include "pippin/cuda/launchers/dot_launches.h"

namespace pippin::cuda {
namespace {

int64_t units_of(int64_t k) {
  return ceil_div<int64_t>(k, 32);
}

// By form, type of scales, shifts.
using Kernels = Kernel[2][2][2];
#define PIPPIN_BY_FORM(prefix)                                       \
  {                                                                  \
    {{Kernel::prefix##_int4, Kernel::prefix##_int4_shifts},          \
     {Kernel::prefix##_int4_f32, Kernel::prefix##_int4_f32_shifts}}, \
    {                                                                \
      {Kernel::prefix##_int8, Kernel::prefix##_int8_shifts}, {       \
        Kernel::prefix##_int8_f32, Kernel::prefix##_int8_f32_shifts  \
      }                                                              \
    }                                                                \
  }
constexpr Kernels kRow = PIPPIN_BY_FORM(dot_row);
constexpr Kernels kLongRow = PIPPIN_BY_FORM(dot_long_row);
constexpr Kernels kTile = PIPPIN_BY_FORM(dot_tile);
#undef PIPPIN_BY_FORM

Kernel kernel_for(const Kernels& kernels, const MatrixFacts& facts) {
  return kernels[facts.form == MatrixForm::Int8 ? 1 : 0][facts.numbers.is_float ? 1 : 0]
                [facts.numbers.has_shifts ? 1 : 0];
}

void add_round(const DotRun& run, std::byte* scratch, bool in_fragments,
               std::vector<Launch>& launches) {
  // Pairs have rows of x in common, or one each.
  const int64_t rows = run.pairs == nullptr ? run.m : run.pairs_share_x ? run.x_rows : 1;
  const int64_t batches = run.pairs_share_x ? 1 : run.batches;
  RoundArgs args{};
  args.x = run.x;
  args.to = reinterpret_cast<unsigned char*>(scratch);
  args.x_stride = run.x_stride;
  args.x_batch = run.x_batch;
  args.m = static_cast<int32_t>(rows);
  args.k = static_cast<int32_t>(run.k);
  args.in_fragments = in_fragments;
  const int64_t warps = std::clamp<int64_t>(units_of(run.k) / 4, 1, 4);
  const int64_t blocks = ceil_div(units_of(run.k), warps * 4) * rows * batches;
  launches.push_back(
      Launch::of(Kernel::round_rows, args, blocks, static_cast<unsigned>(warps * 32)));
}

// Row by row.
void add_rows(const DotRun& run, const MatrixFacts& facts, std::byte* scratch,
              std::vector<Launch>& launches) {
  constexpr int64_t kWarps = 4;
  const bool is_long = units_of(run.k) > 64;
  const int64_t columns = is_long || facts.form == MatrixForm::Int8 ? 1 : 2;  // of a warp
  for (size_t first = 0; first < run.products.size(); first += DotArgs::kMostProducts) {
    DotArgs args = dot_args(run, facts, first, kWarps * columns, 1);
    args.rounded = reinterpret_cast<const unsigned char*>(scratch);
    launches.push_back(Launch::of(kernel_for(is_long ? kLongRow : kRow, facts), args,
                                  num_blocks(args, run), kWarps * 32, kWarps * columns * 33 * 4));
  }
}

// Eight rows at a time, on tensor cores.
void add_tiles(const DotRun& run, const MatrixFacts& facts, std::byte* scratch,
               std::vector<Launch>& launches) {
  // As in dot_tiles.cuh.
  constexpr int64_t kWarps = 4, kColumns = 16, kRows = 8, kBytes = kWarps * (8192 + 1024);
  for (size_t first = 0; first < run.products.size(); first += DotArgs::kMostProducts) {
    DotArgs args = dot_args(run, facts, first, kColumns, kRows);
    args.rounded = reinterpret_cast<const unsigned char*>(scratch);
    launches.push_back(
        Launch::of(kernel_for(kTile, facts), args, num_blocks(args, run), kWarps * 32, kBytes));
  }
}

}  // namespace

bool takes_rounded(const MatrixFacts& facts) {
  return (facts.form == MatrixForm::Int4 || facts.form == MatrixForm::Int8) &&
         facts.numbers.group_shift == 2;
}

// As rounded_row_bytes() of dot_round.cuh; rows come in groups of 8.
int64_t rounded_bytes(int64_t m, int64_t k, int64_t batches) {
  return batches * align_up<int64_t>(m, 8) * (units_of(k) + 1) / 2 * 80;
}

void add_fast_dot(const DotRun& run, const MatrixFacts& facts, const Limits& limits,
                  std::byte* scratch, std::vector<Launch>& launches) {
  if (run.m == 0 || run.k == 0) return add_exact_dot(run, facts, launches);
  const bool in_tiles = run.m > 1 && limits.has_tensor_cores();
  add_round(run, scratch, in_tiles, launches);
  if (in_tiles) {
    add_tiles(run, facts, scratch, launches);
  } else {
    add_rows(run, facts, scratch, launches);
  }
}

}  // namespace pippin::cuda
