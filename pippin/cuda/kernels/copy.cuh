// Copies between views, with conversion.
#pragma once

#include "pippin/cuda/kernels/axes.cuh"
#include "pippin/cuda/kernels/convert.cuh"
#include "pippin/cuda/kernels/copy_args.h"

namespace pippin::cuda {

template <typename Y, typename X, typename F>
DEVICE void convert_group(int width, int64_t stride, void* y, const void* x, const F& f) {
  const Four<X> from = read_elements(static_cast<const X*>(x), width, stride);
  Four<Y> to;
  for (int i = 0; i < 4; ++i) to.v[i] = f(from.v[i]);
  write_elements(static_cast<Y*>(y), width, to);
}
template <typename T>
DEVICE void copy_group(int width, int64_t stride, void* y, int64_t to, const void* x,
                       int64_t from) {
  convert_group<T, T>(width, stride, static_cast<T*>(y) + to, static_cast<const T*>(x) + from,
                      [](T v) { return v; });
}

// Copies element x[from] to y[to], or those from there on: see Axes.
DEVICE void copy_group(Element y_type, Element x_type, int width, int64_t stride, void* y,
                       int64_t to, const void* x, int64_t from) {
  if (y_type == x_type) {
    if (y_type == Element::Bool) return copy_group<uint8_t>(width, stride, y, to, x, from);
    if (y_type == Element::F32 || y_type == Element::I32) {
      return copy_group<uint32_t>(width, stride, y, to, x, from);
    }
    return copy_group<uint16_t>(width, stride, y, to, x, from);
  }
  float* floats = static_cast<float*>(y) + to;
  const uint16_t* halves = static_cast<const uint16_t*>(x) + from;
  if (y_type == Element::F32 && x_type == Element::F16) {
    return convert_group<float, uint16_t>(width, stride, floats, halves,
                                          [](uint16_t v) { return half_to_float(v); });
  }
  if (y_type == Element::F32 && x_type == Element::BF16) {
    return convert_group<float, uint16_t>(width, stride, floats, halves,
                                          [](uint16_t v) { return bfloat_to_float(v); });
  }
  if (y_type == Element::F16 && x_type == Element::F32) {
    return convert_group<uint16_t, float>(width, stride, static_cast<uint16_t*>(y) + to,
                                          static_cast<const float*>(x) + from,
                                          [](float v) { return float_to_half(v); });
  }
  const int step = stride != 0 ? 1 : 0;
  for (int i = 0; i < width; ++i) {
    write_number(y_type, y, to + i, x_type, read_number(x_type, x, from + i * step));
  }
}

// y = x
DEVICE void copy_body(const CopyArgs& a) {
  int64_t at[2];
  if (!find_elements(a.axes, at)) return;
  copy_group(a.to, a.from, a.axes.width, a.axes.strides[1][0], a.y, at[0], a.x, at[1]);
}

template <typename T>
DEVICE void transpose_tile(const TransposeArgs& a, T* tile) {
  constexpr int kSide = 32, kPitch = 33;
  uint32_t rest = blockIdx.z;
  int64_t to = 0, from = 0;
  for (int axis = 0; axis < 6; ++axis) {
    if (axis >= a.rank) continue;
    const uint32_t at = rest % a.shape[axis];
    rest /= a.shape[axis];
    to += at * a.strides[0][axis];
    from += at * a.strides[1][axis];
  }
  const uint32_t across = (a.columns + kSide - 1) / kSide;
  const uint32_t row = blockIdx.x / across * kSide, column = blockIdx.x % across * kSide;
  const int lane = lane_index();
  const T* x = static_cast<const T*>(a.x) + from;
  T* y = static_cast<T*>(a.y) + to;
  for (int i = warp_index(); i < kSide; i += block_threads() / 32) {
    if (column + i < a.columns && row + lane < a.rows) {
      tile[i * kPitch + lane] = x[(column + i) * a.x_column + row + lane];
    }
  }
  barrier();
  for (int i = warp_index(); i < kSide; i += block_threads() / 32) {
    if (row + i < a.rows && column + lane < a.columns) {
      y[(row + i) * a.y_row + column + lane] = tile[lane * kPitch + i];
    }
  }
}

// A tile of 32 x 32 elements, through shared memory so that both sides are adjacent.
DEVICE void transpose_body(const TransposeArgs& a) {
  SHARED(shared);
  switch (a.element_size) {
    case 1:
      return transpose_tile(a, shared);
    case 2:
      return transpose_tile(a, reinterpret_cast<uint16_t*>(shared));
    default:
      return transpose_tile(a, reinterpret_cast<uint32_t*>(shared));
  }
}

// Numbers that the host knows.
DEVICE void write_constants_body(const ConstantArgs& a) {
  const int i = thread_index();
  if (i >= a.count) return;
  int64_t value = 0;
  for (int k = 0; k < ConstantArgs::kMost; ++k) value = k == i ? a.values[k] : value;
  switch (a.to) {
    case Element::I32:
      static_cast<int32_t*>(a.y)[i] = static_cast<int32_t>(value);
      break;
    case Element::Bool:
      static_cast<uint8_t*>(a.y)[i] = value != 0;
      break;
    default:
      static_cast<float*>(a.y)[i] = static_cast<float>(value);
      break;
  }
}

}  // namespace pippin::cuda
