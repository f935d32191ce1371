// Winograd's transformations (args.h) over the vectors of vec/: a tile in each lane.
#pragma once

#include "pippin/kernels/conv/args.h"

namespace pippin::kernels {
namespace {

constexpr int kReach = kWinogradReach, kSide = kWinogradSide;

// One row or column of 6, `step` vectors apart.
PIPPIN_VEC void in_line(F* d, int step) {
  const F d0 = d[0], d1 = d[step], d2 = d[2 * step], d3 = d[3 * step], d4 = d[4 * step],
          d5 = d[5 * step];
  const F four = set(4), five = set(5), two = set(2);
  const F even = fnma(four, d2, d4), odd = fnma(four, d1, d3);
  const F half_even = d4 - d2, half_odd = two * (d3 - d1);
  d[0] = fma(four, d0, fnma(five, d2, d4));
  d[step] = even + odd;
  d[2 * step] = even - odd;
  d[3 * step] = half_even + half_odd;
  d[4 * step] = half_even - half_odd;
  d[5 * step] = fma(four, d1, fnma(five, d3, d5));
}

void winograd_in(const WinogradInArgs& a) noexcept {
  for (int64_t first = 0; first < a.tiles; first += kLanes) {
    F d[kReach * kReach];
    for (int r = 0; r < kReach; ++r) {
#pragma GCC unroll 2
      for (int c = 0; c < kReach; c += static_cast<int>(kLanes)) {
        const int64_t some = smaller_of(kLanes, kReach - c);
        F rows[kLanes];
#pragma GCC unroll 16
        for (int64_t i = 0; i < kLanes; ++i) {
          const int64_t tile = smaller_of(first + i, a.tiles - 1);
          rows[i] = load_part(a.x[tile] + r * a.x_stride[tile] + c, some);
        }
        transpose(rows);
#pragma GCC unroll 6
        for (int64_t i = 0; i < some; ++i) d[r * kReach + c + i] = rows[i];
      }
      in_line(d + r * kReach, 1);
    }
    float* y = a.y + first;
#pragma GCC unroll 6
    for (int c = 0; c < kReach; ++c) {
      in_line(d + c, kReach);
#pragma GCC unroll 6
      for (int r = 0; r < kReach; ++r) store(y + (r * kReach + c) * a.y_stride, d[r * kReach + c]);
    }
  }
}

// 6 of x, `step` vectors apart, as 4 of y.
PIPPIN_VEC void out_line(const F* x, int step, F* y, int y_step) {
  const F sum12 = x[step] + x[2 * step], difference12 = x[step] - x[2 * step];
  const F sum34 = x[3 * step] + x[4 * step], difference34 = x[3 * step] - x[4 * step];
  y[0] = x[0] + sum12 + sum34;
  y[y_step] = fma(set(2), difference34, difference12);
  y[2 * y_step] = fma(set(4), sum34, sum12);
  y[3 * y_step] = fma(set(8), difference34, difference12) + x[5 * step];
}

void winograd_out(const WinogradOutArgs& a) noexcept {
  const F bias = set(a.bias);
  for (int64_t first = 0; first < a.tiles; first += kLanes) {
    const float* x = a.x + first;
    F rows[kSide * kReach];
#pragma GCC unroll 6
    for (int c = 0; c < kReach; ++c) {
      F column[kReach];
#pragma GCC unroll 6
      for (int r = 0; r < kReach; ++r) column[r] = load(x + (r * kReach + c) * a.x_stride);
      out_line(column, 1, rows + c, kReach);
    }
    const int64_t tiles = smaller_of(kLanes, a.tiles - first);
#pragma GCC unroll 4
    for (int r = 0; r < kSide; ++r) {
      F places[kLanes > kSide ? kLanes : kSide];
      out_line(rows + r * kReach, 1, places, 1);
#pragma GCC unroll 4
      for (int i = 0; i < kSide; ++i) places[i] = places[i] + bias;
#pragma GCC unroll 16
      for (int64_t i = kSide; i < kLanes; ++i) places[i] = set(0);
      transpose(places);
      // What a vector has beside its 4 the next one overwrites.
      float* y = a.y + r * a.y_stride + first * kSide;
      for (int64_t i = 0; i < tiles; ++i) store(y + i * kSide, places[i]);
    }
  }
}

}  // namespace
}  // namespace pippin::kernels
