// The arguments of lookup.cuh.
#pragma once

#include "pippin/cuda/kernels/axes_args.h"
#include "pippin/cuda/kernels/element.h"

namespace pippin::cuda {

constexpr int kMostCoordinates = 6;

// As engine::Places: coordinate k is the index `index_step` * k elements on; it selects an element
// of an axis.
struct PlacesArgs {
  const int32_t* indices;
  uint32_t* failed;
  bool from_end, refuse;
  int32_t count;
  int64_t index_step;
  int64_t sizes[kMostCoordinates], strides[kMostCoordinates];
};
// The axes are those of y, the table (for indices of 0) and the indices.
struct GatherArgs {
  void* y;
  const void* table;
  Element to, from;
  PlacesArgs places;
  Axes<3> axes;
};
// The axes, of the table, the updates and the indices, have no place twice; the work of a thread is
// to repeat that along the loops, in order, the last one innermost.
struct ScatterArgs {
  enum class Op : uint8_t { Update, Add, Sub, Mul, Div, Max, Min };  // as engine::Combine

  void* table;
  const void* updates;
  Op op;
  bool integers;
  int32_t loops[3];
  int64_t table_steps[3], update_steps[3], index_steps[3];
  PlacesArgs places;
  Axes<3> axes;
};

}  // namespace pippin::cuda
