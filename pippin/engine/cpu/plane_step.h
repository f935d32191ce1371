// Steps over planes: y [N, C, D, H, W] without gaps, channel by channel or with the channels of a
// place side by side, written piece by piece of a channel from the
// neighbourhoods of x, which has the same axes. Fewer spatial axes are axes of 1 in front.
//
// What follows a convolution element by element (an activation, a norm by channel, a residual) is
// done to each piece while it is in the cache, in the order in which it was added.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pippin/engine/run/step.h"
#include "pippin/kernels/conv/args.h"
#include "pippin/kernels/elementwise/elementwise.h"

namespace pippin::engine {

constexpr int kSpatialAxes = 3;
constexpr int kPlaneRank = 2 + kSpatialAxes;

// The windows along one axis.
struct WindowAxis {
  std::vector<int64_t> taps = {0};  // elements of a window, from its start
  int64_t stride = 1;
  int64_t pad = 0;                        // before the first element of x, may be negative
  bool same = false, same_lower = false;  // `pad` follows from the sizes

  // Where window 0 starts: at or before element 0 of x, unless pad is negative.
  int64_t start(int64_t in, int64_t out) const;
};
using Windows = std::array<WindowAxis, kSpatialAxes>;

int64_t num_taps(const Windows& windows);
// One element at every place, none beside x: what is convolved is the list of places.
bool is_pointwise(const Windows& windows);

// Something done to every element of y after the others.
struct Finish {
  enum class Kind {
    Unary,     // op(y) with alpha and beta
    Channels,  // the same with an alpha and a beta for each channel
    Add,       // y + residual
  };
  Kind kind = Kind::Unary;
  kernels::UnaryOp op = kernels::UnaryOp::Relu;
  std::string name;
  float alpha = 0, beta = 0;
  std::vector<float> alphas, betas;  // of channels
  size_t residual = 0;               // which of the views, set where the step takes it
};

class PlaneStep : public Step {
 public:
  explicit PlaneStep(const CpuFeatures& cpu) : elementwise_(kernels::choose_elementwise(cpu)) {}

  // The same, to which more can be added.
  virtual std::unique_ptr<PlaneStep> copy() const = 0;
  void add_finish(Finish finish) { finishes_.push_back(std::move(finish)); }

 protected:
  // "conv (kernel) + relu + add"
  std::string finished_name(const std::string& name) const;
  const kernels::ElementwiseKernels& elementwise() const { return elementwise_; }
  // Does it to the `count` elements from element `first` of a channel's plane on.
  void finish(const StepContext& context, int64_t batch, int64_t channel, int64_t first,
              int64_t count) const noexcept;
  // The same to the channels [begin, end) of `count` places, counted through all batches, of a y
  // whose channels lie side by side; without what keeping it within bounds() did.
  void finish_places(const StepContext& context, int64_t first, int64_t count, int64_t begin,
                     int64_t end, bool is_bounded = false) const noexcept;
  // What the first thing that is done to y keeps it within, for kernels that can do that; nothing
  // where it is something else.
  kernels::ConvBounds bounds() const noexcept;

 private:
  bool begins_with_bounds() const noexcept;
  void finish_channels(const Finish& finish, float* y, int64_t begin, int64_t count) const noexcept;

  const kernels::ElementwiseKernels& elementwise_;
  std::vector<Finish> finishes_;
};

// Elements of a channel.
inline int64_t plane_size(const Operand& y) {
  return y.shape[2] * y.shape[3] * y.shape[4];
}

}  // namespace pippin::engine
