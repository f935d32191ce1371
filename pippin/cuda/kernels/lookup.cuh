// Elements at places given by indices.
#pragma once

#include "pippin/cuda/kernels/copy.cuh"
#include "pippin/cuda/kernels/lookup_args.h"

namespace pippin::cuda {

// Finds the offset in the table of what the indices from `first` on select; false, and the run
// fails, if there is no such element.
DEVICE bool find_place(const PlacesArgs& a, int64_t first, int64_t* offset) {
  *offset = 0;
  for (int k = 0; k < kMostCoordinates; ++k) {
    if (k >= a.count) continue;
    const int64_t given = a.indices[first + k * a.index_step], size = a.sizes[k];
    const int64_t index = given < 0 && a.from_end ? given + size : given;
    const bool is_inside = index >= 0 && index < size;
    if (!is_inside && (a.refuse || size == 0)) {
      *a.failed = 1;
      return false;
    }
    *offset += (index < 0 ? 0 : is_inside ? index : size - 1) * a.strides[k];
  }
  return true;
}

DEVICE void gather_body(const GatherArgs& a) {
  int64_t at[3], place;
  if (!find_elements(a.axes, at) || !find_place(a.places, at[2], &place)) return;
  copy_group(a.to, a.from, a.axes.width, a.axes.strides[1][0], a.y, at[0], a.table, at[1] + place);
}

template <typename T>
DEVICE T combined(ScatterArgs::Op op, T a, T b) {
  switch (op) {
    case ScatterArgs::Op::Add:
      return a + b;
    case ScatterArgs::Op::Sub:
      return a - b;
    case ScatterArgs::Op::Mul:
      return a * b;
    default:
      return b;
  }
}
DEVICE float combine(ScatterArgs::Op op, float a, float b) {
  switch (op) {
    case ScatterArgs::Op::Div:
      return a / b;
    case ScatterArgs::Op::Max:
      return a < b ? b : a;
    case ScatterArgs::Op::Min:
      return a > b ? b : a;
    default:
      return combined(op, a, b);
  }
}
DEVICE int32_t combine(ScatterArgs::Op op, int32_t a, int32_t b) {
  switch (op) {
    case ScatterArgs::Op::Max:
      return a < b ? b : a;
    case ScatterArgs::Op::Min:
      return a > b ? b : a;
    default:  // wraps around
      return static_cast<int32_t>(combined(op, static_cast<uint32_t>(a), static_cast<uint32_t>(b)));
  }
}

template <typename T>
DEVICE void scatter_elements(const ScatterArgs& a) {
  int64_t at[3];
  if (!find_elements(a.axes, at)) return;
  T* table = static_cast<T*>(a.table) + at[0];
  const T* updates = static_cast<const T*>(a.updates) + at[1];
  for (int i = 0; i < a.loops[0]; ++i) {
    for (int j = 0; j < a.loops[1]; ++j) {
      for (int k = 0; k < a.loops[2]; ++k) {
        const int64_t index =
            at[2] + i * a.index_steps[0] + j * a.index_steps[1] + k * a.index_steps[2];
        int64_t place;
        if (!find_place(a.places, index, &place)) continue;
        T* to = table + place + i * a.table_steps[0] + j * a.table_steps[1] + k * a.table_steps[2];
        *to =
            combine(a.op, *to,
                    updates[i * a.update_steps[0] + j * a.update_steps[1] + k * a.update_steps[2]]);
      }
    }
  }
}
DEVICE void scatter_body(const ScatterArgs& a) {
  if (a.integers) {
    scatter_elements<int32_t>(a);
  } else {
    scatter_elements<float>(a);
  }
}

}  // namespace pippin::cuda
