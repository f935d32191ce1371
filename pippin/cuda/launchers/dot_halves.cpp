// Products with fp16, bf16 and 12-bit matrices on tensor cores.
#include "pippin/base/numbers/checked.h"
#include "pippin/cuda/launchers/dot_launches.h"

namespace pippin::cuda {
namespace {

int64_t spans_of(int64_t k) {
  return ceil_div<int64_t>(k, 64);
}
// As halves_row_bytes() of round_halves.cuh.
int64_t row_bytes_of(int64_t k) {
  return spans_of(k) * 256 + ceil_div<int64_t>(spans_of(k), 4) * 16;
}

Kernel kernel_for(MatrixForm form, Kernel f16, Kernel bf16, Kernel e4m7) {
  return form == MatrixForm::F16 ? f16 : form == MatrixForm::BF16 ? bf16 : e4m7;
}

void add_round(const DotRun& run, const MatrixFacts& facts, const PreparedDotArgs& fused,
               std::byte* scratch, std::vector<Launch>& launches) {
  constexpr int64_t kThreads = 256, kSpans = kThreads / 16;  // at a time
  RoundArgs args{};
  args.x = run.x;
  args.to = reinterpret_cast<unsigned char*>(scratch);
  args.gamma = fused.gamma;
  args.x_stride = run.x_stride;
  args.x_batch = run.x_batch;
  args.m = static_cast<int32_t>(run.rounded_rows());
  args.k = static_cast<int32_t>(run.k);
  args.parts = fused.has_norm ? 1 : static_cast<int32_t>(ceil_div(spans_of(run.k), kSpans));
  args.epsilon = fused.epsilon;
  args.has_norm = fused.has_norm;
  args.has_aligned_x = is_aligned_x(run);
  args.is_bf16 = facts.form == MatrixForm::BF16;
  launches.push_back(Launch::of(Kernel::round_halves, args,
                                args.parts * run.rounded_rows() * run.rounded_batches(), kThreads,
                                32 * sizeof(float)));
}

}  // namespace

bool prepares_halves(const DotRun& run) {
  return run.m == 1 && run.batches == 1 && run.pairs == nullptr && run.k <= kMostPrepared;
}

int64_t halves_bytes(int64_t m, int64_t k, int64_t batches) {
  return batches * m * row_bytes_of(k);
}

bool add_halves_dot(const DotRun& run, const MatrixFacts& facts, PreparedDotArgs fused,
                    std::byte* scratch, std::vector<Launch>& launches) {
  using enum Kernel;
  // As in dot_halves.cuh and dot_halves_many.cuh.
  constexpr int64_t kRows = 8, kManyRows = 128;
  constexpr size_t kShared = (8 * 128 + 32) * sizeof(float);
  constexpr size_t kManyShared = 2 * (64 * 128 + 2 * 128 * 128 + 128 * 4);
  const bool is_gated = fused.gated != nullptr;
  const bool is_many = run.m > kMostGated, prepares = prepares_halves(run);
  const int64_t columns = is_many ? 64 : is_gated ? 8 : 16;
  std::vector<DotArgs> all;
  for (size_t first = 0; first < run.products.size(); first += DotArgs::kMostProducts) {
    DotArgs args = dot_args(run, facts, first, columns, is_many ? kManyRows : kRows);
    if (!args.has_aligned_rows) return false;
    if (is_gated) take_gate(args, columns);
    if (!prepares) args.rounded = reinterpret_cast<const unsigned char*>(scratch);
    all.push_back(args);
  }
  if (!prepares) add_round(run, facts, fused, scratch, launches);
  for (const DotArgs& args : all) {
    if (args.blocks == 0) continue;
    if (is_many) {
      const Kernel kernel =
          kernel_for(facts.form, dot_halves_many_f16, dot_halves_many_bf16, dot_halves_many_e4m7);
      launches.push_back(Launch::of(kernel, args, num_blocks(args, run), 256, kManyShared));
      continue;
    }
    fused.dot = args;
    const size_t row = prepares ? static_cast<size_t>(row_bytes_of(run.k)) : 0;
    launches.push_back(
        Launch::of(kernel_for(facts.form, dot_halves_f16, dot_halves_bf16, dot_halves_e4m7), fused,
                   num_blocks(args, run), 256, kShared + row));
  }
  return true;
}

}  // namespace pippin::cuda
