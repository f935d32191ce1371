// Convolutions and pooling of planes with channels last: every place of y is computed from pointers
// to the elements of x under its window (kernels/conv/conv.h), without packing.
#pragma once

#include "pippin/engine/cpu/place_pointers.h"
#include "pippin/engine/cpu/plane_step.h"
#include "pippin/engine/cpu/window_step.h"
#include "pippin/kernels/conv/conv.h"

namespace pippin::engine {

class ChannelsLastConvStep : public PlaneStep {
 public:
  ChannelsLastConvStep(const CpuFeatures& cpu, const ChannelsLastConvNode& node,
                       const std::vector<Finish>& finishes);

  std::string kernel_name() const override { return kernels_.name; }
  int64_t scratch_bytes() const override;
  void run(const StepContext& context) const noexcept override;

 private:
  struct Job;
  void compute(const StepContext& context, const PlacePointers& places, const Job& job,
               std::byte* scratch) const noexcept;

  const kernels::ConvKernels& kernels_;
  Windows windows_;
  int64_t groups_;
  bool bias_;
};

class ChannelsLastWindowStep : public PlaneStep {
 public:
  ChannelsLastWindowStep(const CpuFeatures& cpu, const ChannelsLastWindowNode& node,
                         const std::vector<Finish>& finishes);

  std::string kernel_name() const override { return kernels_.name; }
  int64_t scratch_bytes() const override;
  void run(const StepContext& context) const noexcept override;

 private:
  void compute(const StepContext& context, const PlacePointers& places, int64_t first,
               int64_t count, std::byte* scratch) const noexcept;
  void compute_run(const StepContext& context, kernels::ConvChannelsArgs args,
                   int64_t first) const noexcept;
  void divide(const StepContext& context, int64_t first, int64_t count) const noexcept;

  const kernels::ConvKernels& kernels_;
  WindowOp op_;
  Windows windows_;
  std::array<int64_t, kSpatialAxes> pad_end_;
  bool bias_;
};

}  // namespace pippin::engine
