// conv.h over the vectors of vec/. An ISA file includes one vec header, defines evens(a, b), the
// even lanes of a and then of b, and dot2(sum, a, b), sum plus the products of both 16-bit integers
// of each lane, and then includes this.
#pragma once

#include "pippin/kernels/conv/args.h"
#include "pippin/kernels/conv/channels_last.h"
#include "pippin/kernels/conv/winograd.h"

namespace pippin::kernels {
namespace {

// 24 sums, 3 vectors of x and a weight fit 32 registers; 12 and 3 and one fit 16.
constexpr int kRows = kManyRegisters ? 8 : 4;
constexpr int kVectors = 3;
constexpr int64_t kColumns = kVectors * kLanes;

// For floats, and for pairs of integers in the place of floats.
PIPPIN_VEC void take(F& to, F from) {
  to = from;
}
PIPPIN_VEC void take(I& to, F from) {
  to = bits(from);
}
PIPPIN_VEC F add_product(F sum, F a, F b) {
  return fma(a, b, sum);
}
PIPPIN_VEC I add_product(I sum, I a, I b) {
  return dot2(sum, a, b);
}

// Adds the products of kUsed rows of a panel and kWide vectors of columns.
template <typename V, int kUsed, int kWide>
PIPPIN_VEC void add_products(const ConvTileArgs& a, const float* w, V (&sums)[kUsed][kWide]) {
  const float* x = a.x;
  for (int64_t k = 0; k < a.k; ++k) {
    V columns[kWide];
#pragma GCC unroll 4
    for (int v = 0; v < kWide; ++v) take(columns[v], load(x + v * kLanes));
#pragma GCC unroll 8
    for (int r = 0; r < kUsed; ++r) {
      V weight;
      take(weight, set(w[r]));
#pragma GCC unroll 4
      for (int v = 0; v < kWide; ++v) sums[r][v] = add_product(sums[r][v], weight, columns[v]);
    }
    x += a.x_stride;
    w += kRows;
  }
}

// kUsed rows of a panel and kWide vectors of columns, the last of `last` elements; `rows` of the
// rows exist.
template <int kUsed, int kWide>
PIPPIN_VEC void tile_of(const ConvTileArgs& a, const float* w, const float* bias, float* y,
                        int64_t rows, int64_t last) {
  F sums[kUsed][kWide];
#pragma GCC unroll 8
  for (int r = 0; r < kUsed; ++r) {
    const int64_t row = smaller_of(r, rows - 1);
    const F start = set(a.add || bias == nullptr ? 0.0F : bias[row]);
#pragma GCC unroll 4
    for (int v = 0; v < kWide; ++v) sums[r][v] = start;
  }
  add_products(a, w, sums);
#pragma GCC unroll 8
  for (int r = 0; r < kUsed; ++r) {
    if (r >= rows) break;
    float* to = y + r * a.y_stride;
#pragma GCC unroll 4
    for (int v = 0; v < kWide; ++v) {
      if (v + 1 < kWide || last == kLanes) {
        store(to, a.add ? load(to) + sums[r][v] : sums[r][v]);
      } else {
        store_part(to, a.add ? load_part(to, last) + sums[r][v] : sums[r][v], last);
      }
      to += kLanes;
    }
  }
}

// The same for pairs, for the rows from row i on.
template <int kUsed, int kWide>
PIPPIN_VEC void pairs_tile_of(const ConvTileArgs& a, int64_t i, const float* w, float* y,
                              int64_t rows, int64_t last) {
  I sums[kUsed][kWide];
#pragma GCC unroll 8
  for (int r = 0; r < kUsed; ++r) {
    const float* from = y + smaller_of(r, rows - 1) * a.y_stride;
#pragma GCC unroll 4
    for (int v = 0; v < kWide; ++v) {
      const bool whole = v + 1 < kWide || last == kLanes;
      sums[r][v] = !a.add  ? set_i(0)
                   : whole ? bits(load(from + v * kLanes))
                           : bits(load_part(from + v * kLanes, last));
    }
  }
  add_products(a, w, sums);
#pragma GCC unroll 8
  for (int r = 0; r < kUsed; ++r) {
    if (r >= rows) break;
    float* to = y + r * a.y_stride;
    const F scale = set(a.scales != nullptr ? a.scales[i + r] : 0.0F);
    const F bias = set(a.bias != nullptr ? a.bias[i + r] : 0.0F);
#pragma GCC unroll 4
    for (int v = 0; v < kWide; ++v) {
      const F value =
          a.scales != nullptr ? fma(to_float(sums[r][v]), scale, bias) : floats(sums[r][v]);
      if (v + 1 < kWide || last == kLanes) {
        store(to + v * kLanes, value);
      } else {
        store_part(to + v * kLanes, value, last);
      }
    }
  }
}

template <bool kPairs, int kWide>
void tile_rows(const ConvTileArgs& a) {
  const int64_t last = a.n - (kWide - 1) * kLanes;
  const float* w = a.w;
  for (int64_t i = 0; i < a.m; i += kRows, w += a.w_stride) {
    const float* bias = a.bias == nullptr ? nullptr : a.bias + i;
    float* y = a.y + i * a.y_stride;
    const int64_t rows = smaller_of(kRows, a.m - i);
    const bool all = rows > kRows / 2;
    if constexpr (kPairs) {
      all ? pairs_tile_of<kRows, kWide>(a, i, w, y, rows, last)
          : pairs_tile_of<kRows / 2, kWide>(a, i, w, y, rows, last);
    } else {
      all ? tile_of<kRows, kWide>(a, w, bias, y, rows, last)
          : tile_of<kRows / 2, kWide>(a, w, bias, y, rows, last);
    }
  }
}

template <bool kPairs>
void tile_columns(const ConvTileArgs& a) {
  if (a.n > 2 * kLanes) {
    tile_rows<kPairs, 3>(a);
  } else if (a.n > kLanes) {
    tile_rows<kPairs, 2>(a);
  } else if (a.n > 0) {
    tile_rows<kPairs, 1>(a);
  }
}

void tile(const ConvTileArgs& a) noexcept {
  tile_columns<false>(a);
}
void tile_pairs(const ConvTileArgs& a) noexcept {
  tile_columns<true>(a);
}

PIPPIN_VEC void fill(float* y, int64_t n, float value) {
  for (; n >= kLanes; n -= kLanes, y += kLanes) store(y, set(value));
  for (int64_t i = 0; i < n; ++i) y[i] = value;
}

// Copies less than a vector in pieces: on some processors, a masked store is slower than all of
// them.
PIPPIN_VEC void copy_rest(const float* x, float* y, int64_t n) {
  for (; n >= 4; n -= 4, x += 4, y += 4) store4(y, load4(x));
  if (n > 0) y[0] = x[0];
  if (n > 1) y[1] = x[1];
  if (n > 2) y[2] = x[2];
}

// Exactly `kVectorsOf` whole vectors of each channel.
template <int kVectorsOf>
void pack_whole(const ConvPackArgs& a) {
  const float* x = a.x;
  float* y = a.y;
  for (int64_t c = 0; c < a.channels; ++c, x += a.x_stride, y += a.y_stride) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectorsOf; ++v) {
      store(y + v * kLanes, load(x + v * kLanes));
      // Prefetches the next panel's vectors; channels are far apart.
      __builtin_prefetch(x + (kVectorsOf + v) * kLanes);
    }
  }
}

void pack(const ConvPackArgs& a) noexcept {
  if (a.x_step == 1 && a.before == 0 && a.after == 0) {
    if (a.count == kColumns) return pack_whole<kVectors>(a);
    if (a.count == kLanes) return pack_whole<1>(a);
  }
  const int64_t x_stride = a.count > 0 ? a.x_stride : 0;  // else x may be null
  const float* x = a.x;
  float* start = a.y;
  for (int64_t c = 0; c < a.channels; ++c, x += x_stride, start += a.y_stride) {
    if (a.before > 0) fill(start, a.before, a.fill);
    float* y = start + a.before;
    int64_t i = 0;
    if (a.x_step == 1) {
      for (; i + kLanes <= a.count; i += kLanes) store(y + i, load(x + i));
      copy_rest(x + i, y + i, a.count - i);
    } else {
      // Elements between and after the used ones may be out of bounds: they are not loaded.
      for (; a.x_step == 2 && i + kLanes < a.count; i += kLanes) {
        store(y + i, evens(load(x + 2 * i), load(x + 2 * i + kLanes)));
      }
      for (; i < a.count; ++i) y[i] = x[i * a.x_step];
    }
    if (a.after > 0) fill(y + a.count, a.after, a.fill);
  }
}

// `kAbreast` vectors of y from element i on; the last has `last` elements unless all are whole.
template <bool kSum, int kAbreast, bool kWhole>
PIPPIN_VEC void window_part(const ConvWindowArgs& a, int64_t i, int64_t last) {
  F values[kAbreast];
#pragma GCC unroll 4
  for (int v = 0; v < kAbreast; ++v) values[v] = set(a.start);
  for (int64_t begin = 0; begin < a.taps; begin += kTaps) {
    const int64_t end = smaller_of(a.taps, begin + kTaps);
    F some[kAbreast];
#pragma GCC unroll 4
    for (int v = 0; v < kAbreast; ++v) some[v] = kSum && begin > 0 ? set(0) : values[v];
    for (int64_t t = begin; t < end; ++t) {
      const float* x = a.x + a.offsets[t] + i;
      const F weight = set(kSum ? a.w[t] : 0.0F);
#pragma GCC unroll 4
      for (int v = 0; v < kAbreast; ++v) {
        const bool whole = v + 1 < kAbreast || kWhole;
        const F element = whole ? load(x + v * kLanes) : load_part(x + v * kLanes, last);
        some[v] = kSum ? fma(weight, element, some[v]) : larger(some[v], element);
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < kAbreast; ++v) {
      values[v] = kSum && begin > 0 ? values[v] + some[v] : some[v];
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kAbreast; ++v) {
    if (v + 1 < kAbreast || kWhole) {
      store(a.y + i + v * kLanes, values[v]);
    } else {
      store_part(a.y + i + v * kLanes, values[v], last);
    }
  }
}

template <bool kSum>
void window(const ConvWindowArgs& a) {
  constexpr int kAbreast = 4;
  int64_t i = 0;
  for (; i + kAbreast * kLanes <= a.n; i += kAbreast * kLanes) {
    window_part<kSum, kAbreast, true>(a, i, kLanes);
  }
  for (; i + kLanes <= a.n; i += kLanes) window_part<kSum, 1, true>(a, i, kLanes);
  if (i < a.n) window_part<kSum, 1, false>(a, i, a.n - i);
}

void window_sum(const ConvWindowArgs& a) noexcept {
  window<true>(a);
}
void window_max(const ConvWindowArgs& a) noexcept {
  window<false>(a);
}

constexpr ConvKernels table(const char* name) {
  return {name,         kRows,        kColumns,    kOutputs,    tile,
          tile_pairs,   pack,         window_sum,  window_max,  channels_last_tile,
          channels_sum, channels_max, winograd_in, winograd_out};
}

}  // namespace
}  // namespace pippin::kernels
