// Products as launches: of nodes with constant and with computed matrices.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pippin/cuda/kernels/dot_args.h"
#include "pippin/cuda/kernels/dot_prepared_args.h"
#include "pippin/cuda/launchers/device_matrix.h"
#include "pippin/cuda/launchers/launcher.h"

namespace pippin::cuda {

// The sizes and operands of a run. Products are set but for first_block; their number is not
// limited.
struct DotRun {
  std::vector<DotProduct> products;
  const float* x = nullptr;
  const float* residual = nullptr;
  int64_t x_stride = 0, residual_stride = 0;
  int64_t m = 0, k = 0;
  int64_t batches = 1, x_batch = 0, y_batch = 0, w_batch_bytes = 0;
  bool is_computed = false;  // W
  // See DotArgs::pairs; m is 1.
  const ExpertPair* pairs = nullptr;
  const int32_t* num_pairs = nullptr;
  bool pairs_share_x = false;
  int64_t x_rows = 0;  // if they do

  // The rows of x that are rounded, of so many batches: pairs have them in common, or one each.
  int64_t rounded_rows() const { return pairs == nullptr ? m : pairs_share_x ? x_rows : 1; }
  int64_t rounded_batches() const { return pairs_share_x ? 1 : batches; }
};

// Of products [first, first + kMostProducts), for blocks of so many columns and rows.
DotArgs dot_args(const DotRun& run, const MatrixFacts& facts, size_t first, int64_t columns,
                 int64_t rows);
int64_t num_blocks(const DotArgs& args, const DotRun& run);
// For results that are gated: the blocks of the first product have the second one's columns, too.
void take_gate(DotArgs& args, int64_t columns);

// Whether groups of 8 columns of x are aligned to 16 bytes.
bool is_aligned_x(const DotRun& run);

// Ways to multiply: in fp32; with x in 8 bits, for integers with a scale for each 32 columns; with
// x in two numbers of 16 bits, for fp16, bf16 and 12 bits on tensor cores.
enum class DotWay : uint8_t { Exact, Rounded, Halves };
DotWay dot_way(const MatrixFacts& facts, int64_t k, const LauncherSource& source);
// The scratch memory of add_dot() for m rows of each of so many batches.
int64_t dot_scratch(DotWay way, int64_t m, int64_t k, int64_t batches = 1);
void add_dot(DotWay way, const DotRun& run, const MatrixFacts& facts, const Limits& limits,
             std::byte* scratch, std::vector<Launch>& launches);

// Whether x is rounded to 8 bits.
bool takes_rounded(const MatrixFacts& facts);

// The parts of add_dot(), by way.
void add_exact_dot(const DotRun& run, const MatrixFacts& facts, std::vector<Launch>& launches);
int64_t rounded_bytes(int64_t m, int64_t k, int64_t batches);
// Applies a norm and a gate (PreparedDotArgs) for 2 to kMostGated rows on tensor cores.
void add_rounded_dot(const DotRun& run, const MatrixFacts& facts, const Limits& limits,
                     const PreparedDotArgs& fused, std::byte* scratch,
                     std::vector<Launch>& launches);
int64_t halves_bytes(int64_t m, int64_t k, int64_t batches);
// Applies a norm and a gate for up to kMostGated rows. Returns false, and adds nothing, if the rows
// of W are not aligned.
bool add_halves_dot(const DotRun& run, const MatrixFacts& facts, PreparedDotArgs fused,
                    std::byte* scratch, std::vector<Launch>& launches);

// The most columns of a row of x that each block prepares itself, and whether blocks do so.
constexpr int64_t kMostPrepared = 8192;
constexpr int64_t kMostGated = 32;
bool prepares_halves(const DotRun& run);

// The matrices of a node's compressed weights: one for each product, or none if they are views. No
// value if no kernel reads them, or not all the same kernel.
std::optional<MatrixFacts> facts_of(const engine::DotNode& dot, const CpuFeatures& cpu);
std::optional<std::vector<DeviceMatrix>> upload_matrices(const engine::DotNode& dot,
                                                         const MatrixFacts& facts,
                                                         const LauncherSource& source);
// The node's operands of a run.
DotRun dot_run(const engine::DotNode& dot, const std::vector<DeviceMatrix>& matrices,
               std::span<const engine::Operand> operands);

// Whether one launch computes both from the same x.
bool share_dot_input(const engine::DotNode& a, const engine::DotNode& b,
                     const engine::ComputeOptions& options);

}  // namespace pippin::cuda
