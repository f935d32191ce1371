// Convolutions and pooling of planes whose channels lie side by side: every place of y is computed
// from pointers to what its window sees of x (kernels/conv/conv.h), and nothing is packed.
#pragma once

#include "pippin/engine/cpu/place_pointers.h"
#include "pippin/engine/cpu/plane_step.h"
#include "pippin/engine/cpu/window_step.h"
#include "pippin/kernels/conv/conv.h"

namespace pippin::engine {

// views: y [N, O, D, H, W] with channels last, without gaps; x [N, C, D, H, W] with channels last,
// or by planes in any layout; the panels of all groups one after another, of the taps that it has
// so (PlacePointers); a bias [O] if it has one.
class PlacesConvStep : public PlaneStep {
 public:
  PlacesConvStep(const CpuFeatures& cpu, Windows windows, int64_t groups, bool bias);

  std::unique_ptr<PlaneStep> copy() const override {
    return std::make_unique<PlacesConvStep>(*this);
  }
  std::string name() const override;
  int64_t scratch_bytes() const override;
  int64_t weight_bytes() const override;
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

// What each channel has to itself. views: y [N, C, D, H, W] and x, both with channels last, y
// without gaps; with weights w [taps, C] and a bias [C] if it has one.
class ChannelsWindowStep : public PlaneStep {
 public:
  // All of WindowOp but Norm; `pad_end` as WindowStep's.
  ChannelsWindowStep(const CpuFeatures& cpu, std::string name, WindowOp op, Windows windows,
                     std::array<int64_t, kSpatialAxes> pad_end, bool bias);

  std::unique_ptr<PlaneStep> copy() const override {
    return std::make_unique<ChannelsWindowStep>(*this);
  }
  std::string name() const override;
  int64_t scratch_bytes() const override;
  int64_t weight_bytes() const override;
  void run(const StepContext& context) const noexcept override;

 private:
  void compute(const StepContext& context, const PlacePointers& places, int64_t first,
               int64_t count, std::byte* scratch) const noexcept;
  void compute_run(const StepContext& context, kernels::ConvChannelsArgs args,
                   int64_t first) const noexcept;
  void divide(const StepContext& context, int64_t first, int64_t count) const noexcept;

  const kernels::ConvKernels& kernels_;
  std::string name_;
  WindowOp op_;
  Windows windows_;
  std::array<int64_t, kSpatialAxes> pad_end_;
  bool bias_;
};

// Whether a window has so few taps that pointers to all of them may be kept.
bool has_few_taps(const Windows& windows);

}  // namespace pippin::engine
