// Convolutions as products of packed panels (kernels/conv/conv.h).
#pragma once

#include "pippin/engine/cpu/plane_step.h"
#include "pippin/kernels/conv/conv.h"

namespace pippin::engine {

enum class ConvOperands {
  Floats,
  Pairs,  // elements of x and the panels are two integers of 16 bits each
};

// views: y [N, O, D, H, W], x [N, C, D, H, W] with any strides, the panels of all groups one after
// another, of pairs the scales [O] of the sums, a bias [O] if it has one.
class ConvStep : public PlaneStep {
 public:
  ConvStep(const CpuFeatures& cpu, ConvOperands operands, Windows windows, int64_t groups,
           bool bias);

  std::unique_ptr<PlaneStep> copy() const override { return std::make_unique<ConvStep>(*this); }
  std::string name() const override;
  int64_t scratch_bytes() const override;
  int64_t weight_bytes() const override;
  void run(const StepContext& context) const noexcept override;

 private:
  struct Job;
  void compute(const StepContext& context, const Job& job, float* scratch) const noexcept;
  void pack(const StepContext& context, const Job& job, int64_t first, int64_t count, int64_t k,
            int64_t k_count, float* panel) const noexcept;

  const float* as_it_lies(const StepContext& context, const Job& job, int64_t first,
                          int64_t k) const noexcept;

  const kernels::ConvKernels& kernels_;
  bool pairs_;
  Windows windows_;
  int64_t groups_;
  bool bias_, pointwise_;
};

// Packs weights [O, C / groups * taps] that are computed; views: panels, weights.
class PackConvStep : public Step {
 public:
  PackConvStep(const CpuFeatures& cpu, int64_t groups, int64_t taps)
      : kernels_(kernels::choose_conv(cpu)), groups_(groups), taps_(taps) {}
  std::string name() const override { return "pack conv"; }
  void run(const StepContext& context) const noexcept override;

 private:
  const kernels::ConvKernels& kernels_;
  int64_t groups_, taps_;
};

}  // namespace pippin::engine
