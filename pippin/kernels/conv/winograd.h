// Winograd's transformations (args.h) over the vectors of vec/, one channel per lane.
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

// A vector of channels of one tile, starting at channel c.
template <bool kWhole>
PIPPIN_VEC void tile_in(const WinogradInArgs& a, int64_t tile, int64_t c, int64_t last) {
  F d[kReach * kReach];
  for (int r = 0; r < kReach; ++r) {
#pragma GCC unroll 6
    for (int i = r * kReach; i < (r + 1) * kReach; ++i) {
      const float* x = a.x[i * kConvPlaces + tile] + c;
      d[i] = kWhole ? load(x) : load_part(x, last);
    }
    in_line(d + r * kReach, 1);
  }
  float* y = a.y + tile * a.tile_stride + c;
#pragma GCC unroll 6
  for (int i = 0; i < kReach; ++i) {
    in_line(d + i, kReach);
#pragma GCC unroll 6
    for (int r = 0; r < kReach; ++r) {
      float* to = y + (r * kReach + i) * a.y_stride;
      kWhole ? store(to, d[r * kReach + i]) : store_part(to, d[r * kReach + i], last);
    }
  }
}

void winograd_in(const WinogradInArgs& a) noexcept {
  for (int64_t tile = 0; tile < a.tiles; ++tile) {
    int64_t c = 0;
    for (; c + kLanes <= a.channels; c += kLanes) tile_in<true>(a, tile, c, kLanes);
    if (c < a.channels) tile_in<false>(a, tile, c, a.channels - c);
  }
}

// Transforms 6 vectors of x, `step` apart, into 4 of y.
PIPPIN_VEC void out_line(const F* x, int step, F* y, int y_step) {
  const F sum12 = x[step] + x[2 * step], difference12 = x[step] - x[2 * step];
  const F sum34 = x[3 * step] + x[4 * step], difference34 = x[3 * step] - x[4 * step];
  y[0] = x[0] + sum12 + sum34;
  y[y_step] = fma(set(2), difference34, difference12);
  y[2 * y_step] = fma(set(4), sum34, sum12);
  y[3 * y_step] = fma(set(8), difference34, difference12) + x[5 * step];
}

// A vector of outputs of the tile, starting at output n.
template <bool kWhole>
PIPPIN_VEC void tile_out(const WinogradOutArgs& a, int64_t n, int64_t last) {
  const auto get = [&](const float* p) { return kWhole ? load(p + n) : load_part(p + n, last); };
  const F bias = a.bias != nullptr ? get(a.bias) : set(0);
  F lines[kSide * kReach];
#pragma GCC unroll 6
  for (int c = 0; c < kReach; ++c) {
    F column[kReach];
#pragma GCC unroll 6
    for (int r = 0; r < kReach; ++r) column[r] = get(a.x + (r * kReach + c) * a.x_stride);
    out_line(column, 1, lines + c, kReach);
  }
  for (int64_t r = 0; r < a.rows; ++r) {
    F places[kSide];
    out_line(lines + r * kReach, 1, places, 1);
    float* y = a.y + r * a.row_stride + n;
#pragma GCC unroll 4
    for (int64_t c = 0; c < kSide; ++c) {
      if (c >= a.columns) break;
      const F value = places[c] + bias;
      kWhole ? store(y + c * a.column_stride, value)
             : store_part(y + c * a.column_stride, value, last);
    }
  }
}

void winograd_out(const WinogradOutArgs& a) noexcept {
  int64_t n = 0;
  for (; n + kLanes <= a.outputs; n += kLanes) tile_out<true>(a, n, kLanes);
  if (n < a.outputs) tile_out<false>(a, n, a.outputs - n);
}

}  // namespace
}  // namespace pippin::kernels
