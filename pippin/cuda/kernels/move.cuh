// Elements written or picked by position.
#pragma once

#include "pippin/cuda/kernels/blocks.cuh"
#include "pippin/cuda/kernels/move_args.h"

namespace pippin::cuda {

DEVICE int64_t global_index() {
  return static_cast<int64_t>(blockIdx.x) * block_threads() + thread_index();
}

DEVICE void range_body(const RangeArgs& a) {
  const int64_t i = global_index();
  if (i >= a.count) return;
  if (a.integers) {
    const uint32_t start = *static_cast<const uint32_t*>(a.start);
    const uint32_t step = *static_cast<const uint32_t*>(a.step);
    static_cast<uint32_t*>(a.y)[i] = start + static_cast<uint32_t>(i) * step;
  } else {
    static_cast<float*>(a.y)[i] = *static_cast<const float*>(a.start) +
                                  static_cast<float>(i) * *static_cast<const float*>(a.step);
  }
}

// y[to] = x[from], or 0.
DEVICE void move_element(int element_size, void* y, int64_t to, const void* x, int64_t from,
                         bool is_zero = false) {
  if (element_size == 1) {
    static_cast<uint8_t*>(y)[to] = is_zero ? 0 : static_cast<const uint8_t*>(x)[from];
  } else if (element_size == 2) {
    static_cast<uint16_t*>(y)[to] = is_zero ? 0 : static_cast<const uint16_t*>(x)[from];
  } else {
    static_cast<uint32_t*>(y)[to] = is_zero ? 0 : static_cast<const uint32_t*>(x)[from];
  }
}

DEVICE void band_body(const BandArgs& a) {
  const int64_t i = global_index();
  if (i >= a.count) return;
  const int64_t column = i % a.columns, row = i / a.columns % a.rows;
  const bool is_inside =
      (a.lower < 0 || row - column <= a.lower) && (a.upper < 0 || column - row <= a.upper);
  move_element(a.element_size, a.y, i, a.x, i, !is_inside);
}

DEVICE void reverse_sequence_body(const ReverseArgs& a) {
  const int64_t i = global_index();
  if (i >= a.count) return;
  const int64_t line = i / a.slice, t = line % a.size, batch = line / a.size;
  const int64_t length = a.lengths[batch * a.length_stride];
  if (length < 0 || length > a.size) {
    *a.failed = 1;
    return;
  }
  const int64_t from = t < length ? length - 1 - t : t;
  move_element(a.element_size, a.y, i, a.x, i + (from - t) * a.slice);
}

DEVICE void pick_body(const PickArgs& a) {
  const int64_t i = global_index();
  if (i >= a.count) return;
  const int64_t line = i / a.inner, pick = line % a.picks;
  const float* x = a.x + line / a.picks * a.size * a.inner + i % a.inner;
  const float* from = x + a.first[pick] * a.inner;
  const float part = a.part != nullptr ? a.part[pick] : 0.0f;
  if (part == 0) {  // the bits, of a float or an integer
    move_element(4, a.y, i, from, 0);
  } else {
    a.y[i] = *from * (1 - part) + x[a.second[pick] * a.inner] * part;
  }
}

DEVICE void one_hot_body(const OneHotArgs& a) {
  const int64_t i = global_index();
  if (i >= a.count) return;
  const int64_t row = i / a.columns, column = i % a.columns;
  const uint32_t bits = a.indices[row * a.index_stride] == column ? a.on : a.off;
  const int64_t to = row * a.y_stride + column;
  if (a.element_size == 1) {
    static_cast<uint8_t*>(a.y)[to] = static_cast<uint8_t>(bits);
  } else {
    static_cast<uint32_t*>(a.y)[to] = bits;
  }
}

template <typename T, typename Total>
DEVICE void write_totals(const TotalsArgs& a, int64_t line) {
  const T* x = static_cast<const T*>(a.x) + line / a.inner * a.x_strides[0] +
               line % a.inner * a.x_strides[2];
  T* y = static_cast<T*>(a.y) + line / a.inner * a.size * a.inner + line % a.inner;
  const int lanes = a.by_warps ? 32 : 1, lane = a.by_warps ? lane_index() : 0;
  Total before = 0;  // of the elements before those of the lanes
  for (int64_t first = 0; first < a.size; first += lanes) {
    const int64_t step = first + lane, i = a.reverse ? a.size - 1 - step : step;
    const bool has_element = step < a.size;
    Total total = has_element ? static_cast<Total>(x[i * a.x_strides[1]]) : Total{0};
    Total previous = 0;
    if (a.by_warps) {
      for (int distance = 1; distance < 32; distance *= 2) {
        const Total other = from_lane(total, lane - distance);
        total = lane >= distance ? other + total : total;
      }
      const Total other = from_lane(total, lane - 1);
      previous = lane > 0 ? other : Total{0};
    }
    if (has_element) {
      y[i * a.inner] = static_cast<T>(before + (a.exclusive ? previous : total));
    }
    before += a.by_warps ? from_lane(total, 31) : total;
  }
}
DEVICE void totals_body(const TotalsArgs& a) {
  const int64_t line = a.by_warps ? global_index() / 32 : global_index();
  if (line >= a.lines) return;
  if (a.integers) {
    write_totals<uint32_t, uint32_t>(a, line);
  } else {
    write_totals<float, double>(a, line);
  }
}

}  // namespace pippin::cuda
