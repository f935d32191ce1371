// Operations on each channel separately: depthwise convolutions and pooling.
#pragma once

#include "pippin/engine/cpu/plane_step.h"
#include "pippin/kernels/conv/conv.h"

namespace pippin::engine {

// Number of elements of window `i` along an axis for an average: all places, or those inside x.
// After the end of x, `pad_end` places count.
int64_t counted_places(const WindowAxis& windows, WindowOp op, int64_t pad_end, int64_t in,
                       int64_t out, int64_t i);

class WindowStep : public PlaneStep {
 public:
  WindowStep(const CpuFeatures& cpu, const WindowNode& node, const std::vector<Finish>& finishes);

  std::string kernel_name() const override { return kernels_.name; }
  int64_t scratch_bytes() const override;
  void run(const StepContext& context) const noexcept override;

 private:
  // A block of rows and columns of y whose rows of x are in the scratch.
  struct Block;
  void compute(const StepContext& context, const Block& block, float* scratch) const noexcept;
  void fill(const Operand& x, const Block& block, float* rows) const noexcept;
  void count(const StepContext& context, const Block& block, int64_t row,
             float* counts) const noexcept;

  const kernels::ConvKernels& kernels_;
  WindowOp op_;
  Windows windows_;  // with taps from 0 on
  std::array<int64_t, kSpatialAxes> pad_end_;
  bool bias_;
};

}  // namespace pippin::engine
