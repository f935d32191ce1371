// Products as launches: of nodes with constant and with computed matrices.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pippin/cuda/kernels/dot_args.h"
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
};

// Of products [first, first + kMostProducts), for blocks of so many columns and rows.
DotArgs dot_args(const DotRun& run, const MatrixFacts& facts, size_t first, int64_t columns,
                 int64_t rows);
int64_t num_blocks(const DotArgs& args, const DotRun& run);

// Whether groups of 8 columns of x are aligned to 16 bytes.
bool is_aligned_x(const DotRun& run);

// In fp32.
void add_exact_dot(const DotRun& run, const MatrixFacts& facts, std::vector<Launch>& launches);

// With x in 8 bits, by takes_rounded(): integers with a scale for each 32 columns. `scratch` has
// rounded_bytes().
bool takes_rounded(const MatrixFacts& facts);
int64_t rounded_bytes(int64_t m, int64_t k, int64_t batches = 1);
void add_fast_dot(const DotRun& run, const MatrixFacts& facts, const Limits& limits,
                  std::byte* scratch, std::vector<Launch>& launches);

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
