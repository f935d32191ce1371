// Copies between views, with conversion.
#pragma once

#include "pippin/cuda/kernels/axes.cuh"
#include "pippin/cuda/kernels/convert.cuh"
#include "pippin/cuda/kernels/copy_args.h"

namespace pippin::cuda {

template <typename T>
DEVICE void copy_elements(const CopyArgs& a) {
  map_elements(a.axes, static_cast<T*>(a.y), static_cast<const T*>(a.x), [](T x) { return x; });
}

template <typename Y, typename X, typename F>
DEVICE void convert_elements(const CopyArgs& a, const F& f) {
  map_elements(a.axes, static_cast<Y*>(a.y), static_cast<const X*>(a.x), f);
}

// y = x
DEVICE void copy_body(const CopyArgs& a) {
  if (a.to == a.from) {
    if (a.to == Element::F32 || a.to == Element::I32) return copy_elements<uint32_t>(a);
    if (a.to == Element::Bool) return copy_elements<uint8_t>(a);
    return copy_elements<uint16_t>(a);
  }
  if (a.to == Element::F32 && a.from == Element::F16) {
    return convert_elements<float, uint16_t>(a, [](uint16_t x) { return half_to_float(x); });
  }
  if (a.to == Element::F16 && a.from == Element::F32) {
    return convert_elements<uint16_t, float>(a, [](float x) { return float_to_half(x); });
  }
  if (a.to == Element::F32 && a.from == Element::BF16) {
    return convert_elements<float, uint16_t>(a, [](uint16_t x) { return bfloat_to_float(x); });
  }
  if (a.to == Element::BF16 && a.from == Element::F32) {
    return convert_elements<uint16_t, float>(a, [](float x) { return float_to_bfloat_bits(x); });
  }
  int64_t at[2];
  if (!find_elements(a.axes, at)) return;
  const int step = a.axes.strides[1][0] != 0 ? 1 : 0;
  for (int i = 0; i < a.axes.width; ++i) {
    write_number(a.to, a.y, at[0] + i, a.from, read_number(a.from, a.x, at[1] + i * step));
  }
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
