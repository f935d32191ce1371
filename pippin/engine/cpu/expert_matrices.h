// A stacked weight [experts, n, k] of which a step multiplies some matrices, in the form in which
// it is stored: fp16, bf16 and fp32 matrices in place; integers with scales; palettes; or 12-bit
// halves.
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
  // Bytes saved compared with the form in the package, and the address that identifies the weight.
  virtual int64_t saved_bytes() const { return 0; }
  virtual const std::byte* key() const { return nullptr; }
  virtual int64_t grain()
      const = 0;  // the columns of the result are divided among threads in multiples of it

  // Rows of x in the form that the kernel needs: their size in bytes, a multiple of 64, and a
  // function that fills them from the given rows, or from the first ones.
  struct Source {
    const float* x;
    int64_t stride, count;
    const int32_t* rows;  // null: 0, 1, 2 ...
    const float* row(int64_t i) const { return x + (rows != nullptr ? rows[i] : i) * stride; }
  };
  virtual int64_t formed_bytes(int64_t rows) const = 0;
  virtual void form(const Source& from, std::byte* memory) const noexcept = 0;
  // Whether rows formed by `other` can be used here.
  virtual bool forms_like(const ExpertMatrices& other) const = 0;
  virtual int64_t scratch_bytes() const { return 0; }  // for each thread, a multiple of 64

  // y[i, j] for all formed rows and the columns j of [begin, end); `bias` is that of column 0, or
  // null. The bits of a result depend neither on the other rows nor on the division of columns.
  virtual void dot(int64_t expert, const std::byte* formed, int64_t rows, const float* bias,
                   float* y, int64_t y_stride, int64_t begin, int64_t end,
                   std::byte* scratch) const noexcept = 0;
};

// Matrices that are stored one after another at `experts`.
std::unique_ptr<ExpertMatrices> dense_experts(std::vector<const std::byte*> experts, int64_t n,
                                              int64_t k, kernels::WeightType type,
                                              const CpuFeatures& cpu);

// For a weight that is kept as a matrix of experts * n rows.
std::unique_ptr<ExpertMatrices> e4m7_experts(std::shared_ptr<const E4M7Weight> weight,
                                             int64_t experts, const CpuFeatures& cpu);

// For a weight that is kept as a matrix of `experts` rows with n * k columns; null if its blocks
// are neither parts of rows of the matrices nor whole rows.
std::unique_ptr<ExpertMatrices> quantized_experts(std::shared_ptr<const QuantizedWeight> weight,
                                                  int64_t experts, int64_t n, int64_t k,
                                                  const CpuFeatures& cpu, Precision precision);

// For a weight of any form; null as quantized_experts().
std::unique_ptr<ExpertMatrices> make_experts(const WeightStack& stack,
                                             const ComputeOptions& options);

}  // namespace pippin::engine
