// The steps of PlaneNode: y is written piece by piece, and its finishes are applied to each piece
// while it is in the cache.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/engine/nodes/planes.h"
#include "pippin/engine/run/step.h"
#include "pippin/kernels/conv/args.h"
#include "pippin/kernels/elementwise/elementwise.h"

namespace pippin::engine {

class PlaneStep : public Step {
 public:
  // With weights given by the node's third view.
  PlaneStep(const CpuFeatures& cpu, const std::vector<Finish>& finishes, bool has_weights)
      : elementwise_(kernels::choose_elementwise(cpu)),
        finishes_(finishes),
        has_weights_(has_weights) {}

  int64_t weight_bytes() const override {
    if (!has_weights_) return 0;
    return mil::num_elements(views[2].shape).upper() * element_size(Storage::F32);
  }

 protected:
  const kernels::ElementwiseKernels& elementwise() const { return elementwise_; }
  // Applies the finishes to the `count` elements from element `first` of a channel's plane on.
  void finish(const StepContext& context, int64_t batch, int64_t channel, int64_t first,
              int64_t count) const noexcept;
  // Applies them to the channels [begin, end) of `count` places, counted through all batches, of a
  // y with channels last; skips the clamp that bounds() describes.
  void finish_channels_last(const StepContext& context, int64_t first, int64_t count, int64_t begin,
                            int64_t end, bool is_bounded = false) const noexcept;
  // The bounds of the first finish, for kernels that can clamp; empty if it is not a clamp.
  kernels::ConvBounds bounds() const noexcept;

 private:
  bool begins_with_bounds() const noexcept;
  void finish_channels(const Finish& finish, float* y, int64_t begin, int64_t count) const noexcept;

  const kernels::ElementwiseKernels& elementwise_;
  const std::vector<Finish>& finishes_;  // of the node
  bool has_weights_;
};

// Elements of a channel.
inline int64_t plane_size(const Operand& y) {
  return y.shape[2] * y.shape[3] * y.shape[4];
}

}  // namespace pippin::engine
