// Convolutions of 3 x 3 weights at every place by Winograd's products (kernels/conv/conv.h).
#pragma once

#include "pippin/engine/steps/plane_step.h"
#include "pippin/kernels/conv/conv.h"

namespace pippin::engine {

// views: y [N, O, 1, H, W], x [N, C, 1, H, W] with elements of a row side by side, the panels of
// each of the 36 products one after another, a bias [O] if it has one; all fp32.
class WinogradStep : public PlaneStep {
 public:
  WinogradStep(const CpuFeatures& cpu, Windows windows, bool bias);

  // Whether it is for such windows.
  static bool fits(const Windows& windows);

  std::string name() const override;
  int64_t scratch_bytes() const override;
  int64_t weight_bytes() const override;
  void run(const StepContext& context) const noexcept override;

 private:
  struct Job;
  struct Scratch;
  Scratch scratch_of(std::byte* bytes, int64_t channels) const;  // sizes alone without bytes
  void compute(const StepContext& context, const Job& job, const Scratch& scratch) const noexcept;
  void transform(const StepContext& context, const Job& job, const Scratch& scratch) const noexcept;
  void write(const StepContext& context, const Job& job, int64_t channel,
             const float* rows) const noexcept;

  const kernels::ConvKernels& kernels_;
  Windows windows_;
  bool bias_;
};

}  // namespace pippin::engine
