// Convolutions of 3 x 3 weights at every place by Winograd's products (kernels/conv/conv.h).
#pragma once

#include "pippin/engine/cpu/place_pointers.h"
#include "pippin/engine/cpu/plane_step.h"
#include "pippin/kernels/conv/conv.h"

namespace pippin::engine {

// views: y [N, O, 1, H, W] with channels last, without gaps; x [N, C, 1, H, W] with channels last,
// the panels of each of the 36 products one after another, a bias [O] if it has one; all fp32.
class WinogradStep : public PlaneStep {
 public:
  WinogradStep(const CpuFeatures& cpu, const Windows& windows, bool bias);

  // Whether it is for such windows.
  static bool fits(const Windows& windows);
  // Tiles that meet the weights together.
  static constexpr int64_t kTiles = 24;

  std::unique_ptr<PlaneStep> copy() const override { return std::make_unique<WinogradStep>(*this); }
  std::string name() const override;
  int64_t scratch_bytes() const override;
  int64_t weight_bytes() const override;
  void run(const StepContext& context) const noexcept override;

 private:
  struct Job;
  struct Scratch;
  Scratch scratch_of(std::byte* bytes, int64_t channels) const;  // sizes alone without bytes
  void compute(const StepContext& context, const PlacePointers& tiles, const Job& job,
               const Scratch& scratch) const noexcept;
  void write(const StepContext& context, const Job& job, int64_t begin, int64_t end,
             const Scratch& scratch) const noexcept;

  const kernels::ConvKernels& kernels_;
  Windows tiles_;    // their elements
  int64_t outputs_;  // whose products are kept at a time
  bool bias_;
};

}  // namespace pippin::engine
