// Pointers to the channels of x under each window, for kernels that take pointers (kernels/conv).
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/engine/cpu/plane_step.h"
#include "pippin/kernels/conv/conv.h"

namespace pippin::engine {

// Places of y, counted through all batches, in tiles of kConvPlaces.
class PlacePointers {
 public:
  // Taps may be in any order, none before the window's start.
  PlacePointers(const Windows& windows, const Operand& x, const Operand& y);

  // Writes [ceil(count / kConvPlaces)][taps][kConvPlaces] pointers to channel `channel` under the
  // windows of `count` places, from place `first` on; `outside` beyond x. A last tile repeats its
  // last place. `offsets` has room for `taps` numbers.
  void write(int64_t first, int64_t count, int64_t channel, const float* outside, int64_t* offsets,
             const float** pointers) const noexcept;

  // Places whose windows lie inside x at equal distances, or that need a pointer each.
  struct Run {
    int64_t count;
    int64_t step;  // elements of x from one window to the next; 0 if each place needs a pointer
  };
  // The run that begins at place `first`, of at most `count` places.
  Run run(int64_t first, int64_t count) const noexcept;
  // Number of taps of a row for which each tap at one place of a run covers the element of the
  // previous tap at the next place.
  int64_t together() const { return together_; }
  // Writes [taps] pointers for the window of place `first`, which begins a run.
  void write_first(int64_t first, int64_t channel, int64_t* offsets,
                   const float** pointers) const noexcept;

 private:
  struct Place {
    int64_t batch;
    std::array<int64_t, kSpatialAxes> start;  // of its window, which may lie outside x
  };
  Place place(int64_t index) const noexcept;
  const float* element(const Place& place, int64_t channel) const noexcept;
  bool is_window_inside(size_t axis, int64_t start) const noexcept;
  // Whether the elements of an axis continue those of the axis inside it.
  bool follows(size_t axis, size_t inner) const;
  void write_offsets(int64_t* offsets) const noexcept;
  void write_row(const float* base, const int64_t* offsets, const float** pointers) const noexcept;
  void write_edge(int64_t batch, const std::array<int64_t, kSpatialAxes>& start, int64_t channel,
                  const float* outside, const float** pointers) const noexcept;

  const Windows& windows_;
  const Operand& x_;
  const Operand& y_;
  int64_t taps_;
  std::array<int64_t, kSpatialAxes> start_, reach_;
  int64_t together_;
  int64_t step_;              // from one window of a row to the next
  int64_t inside_, outside_;  // [inside, outside): columns of y whose windows lie inside x
  bool is_one_row_;           // the places of x in order are those of y
};

}  // namespace pippin::engine
