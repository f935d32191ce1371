// A stacked weight [experts, n, k] of which a step multiplies some matrices, in the form in which
// it is stored: fp16, bf16 and fp32 where each matrix lies, integers with scales, and palettes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pippin/base/cpu_features.h"
#include "pippin/engine/compute_options.h"
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
  virtual int64_t grain() const = 0;  // columns of the result are shared in multiples of it

  // Rows of x as the kernel wants them beside themselves: bytes for so many, a multiple of 64, and
  // filling them. 0: it takes x.
  virtual int64_t formed_bytes([[maybe_unused]] int64_t rows) const { return 0; }
  virtual void form(const float* /*x*/, int64_t /*stride*/, int64_t /*rows*/,
                    std::byte* /*memory*/) const noexcept {}
  // Whether rows that `other` formed serve here too.
  virtual bool forms_like(const ExpertMatrices& other) const = 0;
  virtual int64_t scratch_bytes() const { return 0; }  // for each thread, a multiple of 64

  struct Rows {
    const float* x;
    int64_t stride, count;
    const std::byte* formed;
  };
  // y[i, j] for all rows and the columns j of [begin, end); `bias` is of column 0 or null. The
  // bits of a result depend neither on the other rows nor on how columns are shared.
  virtual void dot(int64_t expert, const Rows& rows, const float* bias, float* y, int64_t y_stride,
                   int64_t begin, int64_t end, std::byte* scratch) const noexcept = 0;
};

// One matrix after another where `experts` point.
std::unique_ptr<ExpertMatrices> dense_experts(std::vector<const std::byte*> experts, int64_t n,
                                              int64_t k, kernels::WeightType type,
                                              const CpuFeatures& cpu);

// Of a weight that is kept as a matrix of `experts` rows with n * k columns; null where its blocks
// are not parts of rows, or rows, of the matrices.
std::unique_ptr<ExpertMatrices> quantized_experts(std::shared_ptr<const QuantizedWeight> weight,
                                                  int64_t experts, int64_t n, int64_t k,
                                                  const CpuFeatures& cpu, Precision precision);

}  // namespace pippin::engine
