// Convolutions as products of packed panels (kernels/conv/conv.h).
#pragma once

#include "pippin/engine/cpu/plane_step.h"
#include "pippin/kernels/conv/conv.h"

namespace pippin::engine {

class ConvStep : public PlaneStep {
 public:
  ConvStep(const CpuFeatures& cpu, const ConvNode& node, const std::vector<Finish>& finishes);

  std::string kernel_name() const override { return kernels_.name; }
  int64_t scratch_bytes() const override;
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

class PackConvStep : public Step {
 public:
  PackConvStep(const CpuFeatures& cpu, const PackConvNode& node)
      : kernels_(kernels::choose_conv(cpu)), groups_(node.groups), taps_(node.taps) {}
  void run(const StepContext& context) const noexcept override;

 private:
  const kernels::ConvKernels& kernels_;
  int64_t groups_, taps_;
};

}  // namespace pippin::engine
