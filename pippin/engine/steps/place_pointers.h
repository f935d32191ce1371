// Where windows find the channels of x, for kernels that take them by pointers (kernels/conv).
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/engine/steps/plane_step.h"
#include "pippin/kernels/conv/conv.h"

namespace pippin::engine {

// Whether the channels of a place of [N, C, spatial...] lie side by side in memory.
bool has_channels_last(const View& view);

// Places of y, counted through all batches, in tiles of kConvPlaces.
class PlacePointers {
 public:
  // Taps may lie in any order, none before the window's start.
  PlacePointers(const Windows& windows, const Operand& x, const Operand& y);

  // Writes [ceil(count / kConvPlaces)][taps][kConvPlaces] pointers to channel `channel` of what the
  // windows of `count` places see, from place `first` on; `outside` where there is no x. A last
  // tile repeats its last place. `offsets` has room for taps numbers.
  void write(int64_t first, int64_t count, int64_t channel, const float* outside, int64_t* offsets,
             const float** pointers) const noexcept;

 private:
  void write_offsets(int64_t* offsets) const noexcept;
  void write_row(const float* base, int64_t step, const int64_t* offsets,
                 const float** pointers) const noexcept;
  void write_edge(int64_t batch, const std::array<int64_t, kSpatialAxes>& start, int64_t channel,
                  const float* outside, const float** pointers) const noexcept;

  const Windows& windows_;
  const Operand& x_;
  const Operand& y_;
  int64_t taps_;
  std::array<int64_t, kSpatialAxes> start_, reach_;
};

}  // namespace pippin::engine
