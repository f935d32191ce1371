// A stacked weight [experts, n, k] of which a step multiplies some matrices, in the form in which
// it is stored: fp16, bf16 and fp32 where each matrix lies, integers with scales, and palettes; or
// halves in 12 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pippin/base/cpu_features.h"
#include "pippin/engine/compute_options.h"
#include "pippin/engine/nodes/dot.h"
#include "pippin/engine/weights/e4m7_weight.h"
#include "pippin/engine/weights/quantized_weight.h"
#include "pippin/kernels/dot/args.h"

namespace pippin::engine {

class ExpertMatrices {
 public:
  ExpertMatrices(int64_t rows, int64_t columns) : n(rows), k(columns) {}
  virtual ~ExpertMatrices() = default;

  const int64_t n, k;

  virtual std::string name() const = 0;
  virtual int64_t bytes() const = 0;  // of one expert
  // How much less that is than the package's own, and what tells the weight from others.
  virtual int64_t saved_bytes() const { return 0; }
  virtual const std::byte* key() const { return nullptr; }
  virtual int64_t grain() const = 0;  // columns of the result are shared in multiples of it

  // Rows of x as the kernel wants them: bytes for so many, a multiple of 64, and filling them with
  // the rows whose numbers are given, or the first ones.
  struct Source {
    const float* x;
    int64_t stride, count;
    const int32_t* rows;  // null: 0, 1, 2 ...
    const float* row(int64_t i) const { return x + (rows != nullptr ? rows[i] : i) * stride; }
  };
  virtual int64_t formed_bytes(int64_t rows) const = 0;
  virtual void form(const Source& from, std::byte* memory) const noexcept = 0;
  // Whether rows that `other` formed serve here too.
  virtual bool forms_like(const ExpertMatrices& other) const = 0;
  virtual int64_t scratch_bytes() const { return 0; }  // for each thread, a multiple of 64

  // y[i, j] for all formed rows and the columns j of [begin, end); `bias` is of column 0 or null.
  // The bits of a result depend neither on the other rows nor on how columns are shared.
  virtual void dot(int64_t expert, const std::byte* formed, int64_t rows, const float* bias,
                   float* y, int64_t y_stride, int64_t begin, int64_t end,
                   std::byte* scratch) const noexcept = 0;
};

// One matrix after another where `experts` point.
std::unique_ptr<ExpertMatrices> dense_experts(std::vector<const std::byte*> experts, int64_t n,
                                              int64_t k, kernels::WeightType type,
                                              const CpuFeatures& cpu);

// Of a weight that is kept as a matrix of experts * n rows.
std::unique_ptr<ExpertMatrices> e4m7_experts(std::shared_ptr<const E4M7Weight> weight,
                                             int64_t experts, const CpuFeatures& cpu);

// Of a weight that is kept as a matrix of `experts` rows with n * k columns; null where its blocks
// are not parts of rows, or rows, of the matrices.
std::unique_ptr<ExpertMatrices> quantized_experts(std::shared_ptr<const QuantizedWeight> weight,
                                                  int64_t experts, int64_t n, int64_t k,
                                                  const CpuFeatures& cpu, Precision precision);

// Of any of them; null as quantized_experts().
std::unique_ptr<ExpertMatrices> make_experts(const WeightStack& stack,
                                             const ComputeOptions& options);

}  // namespace pippin::engine
