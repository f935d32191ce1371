// Convolutions with 3 x 3 weights and stride 1 by Winograd's algorithm (kernels/conv/conv.h).
#pragma once

#include "pippin/engine/cpu/place_pointers.h"
#include "pippin/engine/cpu/plane_step.h"
#include "pippin/kernels/conv/conv.h"

namespace pippin::engine {

class WinogradStep : public PlaneStep {
 public:
  WinogradStep(const CpuFeatures& cpu, const WinogradNode& node,
               const std::vector<Finish>& finishes);

  // Tiles that are multiplied by the weights together.
  static constexpr int64_t kTiles = 24;

  std::string kernel_name() const override { return kernels_.name; }
  int64_t scratch_bytes() const override;
  void run(const StepContext& context) const noexcept override;

 private:
  struct Job;
  struct Scratch;
  Scratch scratch_of(std::byte* bytes,
                     int64_t channels) const;  // computes sizes only if `bytes` is null
  void compute(const StepContext& context, const PlacePointers& tiles, const Job& job,
               const Scratch& scratch) const noexcept;
  void write(const StepContext& context, const Job& job, int64_t begin, int64_t end,
             const Scratch& scratch) const noexcept;

  const kernels::ConvKernels& kernels_;
  Windows tiles_;    // the windows of their elements
  int64_t outputs_;  // outputs whose products are kept at a time
  bool bias_;
};

}  // namespace pippin::engine
