// The elements of a thread in strided arrays: see axes_args.h.
#pragma once

#include "pippin/cuda/kernels/axes_args.h"
#include "pippin/cuda/kernels/blocks.cuh"

namespace pippin::cuda {

template <typename T>
struct alignas(4 * sizeof(T)) Four {
  T v[4];
};

// Sets the offsets of the thread's elements; false if it has none.
template <int N>
DEVICE bool find_elements(const Axes<N>& axes, int64_t (&offsets)[N]) {
  uint32_t rest = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < N; ++k) offsets[k] = 0;
  if (rest >= axes.count) return false;
  for (int axis = 0; axis < kMostAxes; ++axis) {
    if (axis >= axes.rank) continue;
    uint32_t at = rest;
    if (axis + 1 < axes.rank) {
      rest /= axes.shape[axis];
      at -= rest * axes.shape[axis];
    }
    for (int k = 0; k < N; ++k) offsets[k] += static_cast<int64_t>(at) * axes.strides[k][axis];
  }
  return true;
}

// One element is in v[0] (and the others).
template <typename T>
DEVICE Four<T> read_elements(const T* p, int width, int64_t stride) {
  if (width == 4 && stride != 0) return *reinterpret_cast<const Four<T>*>(p);
  const T one = *p;
  return {{one, one, one, one}};
}
template <typename T>
DEVICE void write_elements(T* p, int width, const Four<T>& values) {
  if (width == 4) {
    *reinterpret_cast<Four<T>*>(p) = values;
  } else {
    *p = values.v[0];
  }
}

// y = f(x...) for the thread's elements; y is the first array.
template <int N, typename Y, typename X, typename F>
DEVICE void map_elements(const Axes<N>& axes, Y* y, const X* x, const F& f) {
  int64_t at[N];
  if (!find_elements(axes, at)) return;
  const Four<X> from = read_elements(x + at[1], axes.width, axes.strides[1][0]);
  Four<Y> to;
  to.v[0] = f(from.v[0]);
  if (axes.width == 4) {
    for (int i = 1; i < 4; ++i) to.v[i] = f(from.v[i]);
  }
  write_elements(y + at[0], axes.width, to);
}
template <int N, typename Y, typename A, typename B, typename F>
DEVICE void map_elements(const Axes<N>& axes, Y* y, const A* a, const B* b, const F& f) {
  int64_t at[N];
  if (!find_elements(axes, at)) return;
  const Four<A> left = read_elements(a + at[1], axes.width, axes.strides[1][0]);
  const Four<B> right = read_elements(b + at[2], axes.width, axes.strides[2][0]);
  Four<Y> to;
  to.v[0] = f(left.v[0], right.v[0]);
  if (axes.width == 4) {
    for (int i = 1; i < 4; ++i) to.v[i] = f(left.v[i], right.v[i]);
  }
  write_elements(y + at[0], axes.width, to);
}

}  // namespace pippin::cuda
