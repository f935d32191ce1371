// What each channel has to itself: depthwise convolutions and pooling.
#pragma once

#include "pippin/engine/cpu/plane_step.h"
#include "pippin/kernels/conv/conv.h"

namespace pippin::engine {

enum class WindowOp {
  Weights,  // sum of weight * x, plus bias
  Max,
  Average,  // of all places of a window
  Inside,   // of those that lie in x
  Norm,     // square root of the sum of squares
};

// What window `i` along an axis counts for an average: places, or those inside x. Behind the end of
// x so many places as `pad_end` says.
int64_t counted_places(const WindowAxis& windows, WindowOp op, int64_t pad_end, int64_t in,
                       int64_t out, int64_t i);

// views: y [N, O, D, H, W], x [N, C, D, H, W] with any strides; with weights w [O, taps] and a bias
// [O] if it has one; all fp32. O is a multiple of C.
class WindowStep : public PlaneStep {
 public:
  // `pad_end`: what Average counts behind the end of x; no limit where windows pad as they need.
  WindowStep(const CpuFeatures& cpu, std::string name, WindowOp op, Windows windows,
             std::array<int64_t, kSpatialAxes> pad_end, bool bias);

  // Whether its working memory stays small for an x of that shape: windows that reach far do not.
  static bool fits(const Windows& windows, const View& x);

  std::unique_ptr<PlaneStep> copy() const override { return std::make_unique<WindowStep>(*this); }
  std::string name() const override;
  int64_t scratch_bytes() const override;
  int64_t weight_bytes() const override;
  void run(const StepContext& context) const noexcept override;

 private:
  // Rows of y, and columns of them, of which the rows of x are in the scratch.
  struct Block;
  void compute(const StepContext& context, const Block& block, float* scratch) const noexcept;
  void fill(const Operand& x, const Block& block, float* rows) const noexcept;
  void count(const StepContext& context, const Block& block, int64_t row,
             float* counts) const noexcept;

  const kernels::ConvKernels& kernels_;
  std::string name_;
  WindowOp op_;
  Windows windows_;  // with taps from 0 on
  std::array<int64_t, kSpatialAxes> pad_end_;
  bool bias_;
};

}  // namespace pippin::engine
