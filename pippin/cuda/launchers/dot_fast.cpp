// Products with x in 8 bits.
#include "pippin/base/numbers/checked.h"
#include "pippin/cuda/launchers/dot_launches.h"

namespace pippin::cuda {
namespace {

int64_t units_of(int64_t k) {
  return ceil_div<int64_t>(k, 32);
}

// By form, type of scales, shifts.
using FormKernels = Kernel[2][2][2];
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
constexpr FormKernels kShortRow = PIPPIN_BY_FORM(dot_short_row);
constexpr FormKernels kRow = PIPPIN_BY_FORM(dot_row);
constexpr FormKernels kRoundedRow = PIPPIN_BY_FORM(dot_rounded_row);
constexpr FormKernels kTile = PIPPIN_BY_FORM(dot_tile);
constexpr FormKernels kMany = PIPPIN_BY_FORM(dot_many);
#undef PIPPIN_BY_FORM

Kernel kernel_for(const FormKernels& kernels, const MatrixFacts& facts) {
  return kernels[facts.form == MatrixForm::Int8 ? 1 : 0][facts.numbers.is_float ? 1 : 0]
                [facts.numbers.has_shifts ? 1 : 0];
}

void add_round(const DotRun& run, const PreparedDotArgs& fused, std::byte* scratch,
               bool in_fragments, std::vector<Launch>& launches) {
  const int64_t rows = run.rounded_rows(), batches = run.rounded_batches();
  RoundArgs args{};
  args.x = run.x;
  args.to = reinterpret_cast<unsigned char*>(scratch);
  args.x_stride = run.x_stride;
  args.x_batch = run.x_batch;
  args.m = static_cast<int32_t>(rows);
  args.k = static_cast<int32_t>(run.k);
  args.gamma = fused.gamma;
  args.epsilon = fused.epsilon;
  args.has_norm = fused.has_norm;
  args.in_fragments = in_fragments;
  args.has_aligned_x = is_aligned_x(run);
  const int64_t warps = std::clamp<int64_t>(units_of(run.k) / 4, 1, fused.has_norm ? 8 : 4);
  args.parts = fused.has_norm ? 1 : static_cast<int32_t>(ceil_div(units_of(run.k), warps * 4));
  launches.push_back(Launch::of(Kernel::round_rows, args, args.parts * rows * batches,
                                static_cast<unsigned>(warps * 32), 32 * sizeof(float)));
}

// Row by row: rounded by each block, if they are not long.
void add_rows(const DotRun& run, const MatrixFacts& facts, std::byte* scratch,
              std::vector<Launch>& launches) {
  constexpr int64_t kWarps = 8, kShortUnits = 64, kMostUnits = 256;
  const int64_t units = units_of(run.k);
  const bool is_short = units <= kShortUnits, is_long = units > kMostUnits;
  if (is_long) add_round(run, {}, scratch, false, launches);
  const int64_t columns = is_short && facts.form == MatrixForm::Int4 ? 2 : 1;  // of a warp
  const int64_t shared = align_up<int64_t>(kWarps * columns * 33 * 4, 16);
  for (size_t first = 0; first < run.products.size(); first += DotArgs::kMostProducts) {
    DotArgs args = dot_args(run, facts, first, kWarps * columns, 1);
    if (is_long) args.rounded = reinterpret_cast<const unsigned char*>(scratch);
    if (args.blocks == 0) continue;
    const FormKernels& kernels = is_short ? kShortRow : is_long ? kRoundedRow : kRow;
    launches.push_back(Launch::of(kernel_for(kernels, facts), args, num_blocks(args, run),
                                  kWarps * 32, is_long ? shared : shared + (units + 1) / 2 * 80));
  }
}

// Eight rows or 128 at a time, on tensor cores.
void add_tiles(const DotRun& run, const MatrixFacts& facts, PreparedDotArgs fused,
               std::byte* scratch, std::vector<Launch>& launches) {
  // As in dot_tiles.cuh and dot_many.cuh.
  constexpr int64_t kTileBytes = 4 * (8192 + 1024), kManyBytes = 3 * (8192 + 3072 + 2048);
  const bool is_many = run.m > kMostGated;
  const int64_t columns = is_many ? 64 : fused.gated != nullptr ? 8 : 16, rows = is_many ? 128 : 8;
  const int64_t more = facts.form == MatrixForm::Int8 ? 3 * 2048 : 0;
  for (size_t first = 0; first < run.products.size(); first += DotArgs::kMostProducts) {
    DotArgs args = dot_args(run, facts, first, columns, rows);
    args.rounded = reinterpret_cast<const unsigned char*>(scratch);
    if (fused.gated != nullptr) take_gate(args, columns);
    if (args.blocks == 0) continue;
    if (is_many) {
      launches.push_back(Launch::of(kernel_for(kMany, facts), args, num_blocks(args, run), 256,
                                    static_cast<size_t>(kManyBytes + more)));
      continue;
    }
    fused.dot = args;
    launches.push_back(
        Launch::of(kernel_for(kTile, facts), fused, num_blocks(args, run), 128, kTileBytes));
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

void add_rounded_dot(const DotRun& run, const MatrixFacts& facts, const Limits& limits,
                     const PreparedDotArgs& fused, std::byte* scratch,
                     std::vector<Launch>& launches) {
  const bool in_tiles = run.m > 1 && limits.has_tensor_cores();
  if (in_tiles) {
    add_round(run, fused, scratch, true, launches);
    add_tiles(run, facts, fused, scratch, launches);
  } else {
    add_rows(run, facts, scratch, launches);
  }
}

}  // namespace pippin::cuda
