// Kernels of places whose channels lie side by side (args.h), over the vectors of vec/.
#pragma once

#include "pippin/kernels/conv/args.h"

namespace pippin::kernels {
namespace {

// 6 places of 2 vectors of outputs are 12 sums of 16 registers, beside the weights of both and one
// element of x; of 4 vectors 24 of 32.
constexpr int kPlaces = static_cast<int>(kConvPlaces);
constexpr int kOutputVectors = kManyRegisters ? 4 : 2;
constexpr int64_t kOutputs = kOutputVectors * kLanes;

PIPPIN_VEC F larger(F sticky, F x) {
  return select(sticky == sticky, max(sticky, x), sticky);
}

// Taps whose sum is added to that of the others: sums of many keep their digits so.
constexpr int64_t kTaps = 16;

// kUsed places from pointers x on and kWide vectors of outputs. Unless all of them exist there are
// `places`, and the last vector has `last` elements.
template <int kUsed, int kWide, bool kWhole>
PIPPIN_VEC void places_part(const ConvPlacesArgs& a, const float* const* pointers, float* y,
                            int64_t places, int64_t last) {
  const auto get = [&](const float* p, int v) {
    return kWhole || v + 1 < kWide || last == kLanes ? load(p + v * kLanes)
                                                     : load_part(p + v * kLanes, last);
  };
  F sums[kUsed][kWide];
#pragma GCC unroll 4
  for (int v = 0; v < kWide; ++v) {
    const F start = !a.add && a.bias != nullptr ? get(a.bias, v) : set(0);
#pragma GCC unroll 6
    for (int i = 0; i < kUsed; ++i) sums[i][v] = start;
  }
  const float* panel = a.w;
  for (int64_t tap = 0; tap < a.taps; ++tap, pointers += kPlaces, panel += a.w_stride) {
    const float* x[kUsed];
#pragma GCC unroll 6
    for (int i = 0; i < kUsed; ++i) x[i] = pointers[i] + a.first;
    const float* w = panel;
    for (int64_t k = 0; k < a.channels; ++k, w += kOutputs) {
      F weights[kWide];
#pragma GCC unroll 4
      for (int v = 0; v < kWide; ++v) weights[v] = load(w + v * kLanes);
#pragma GCC unroll 6
      for (int i = 0; i < kUsed; ++i) {
        const F element = set(x[i][k]);
#pragma GCC unroll 4
        for (int v = 0; v < kWide; ++v) sums[i][v] = fma(element, weights[v], sums[i][v]);
      }
    }
  }
  if (a.add) {
#pragma GCC unroll 6
    for (int i = 0; i < kUsed; ++i) {
#pragma GCC unroll 4
      for (int v = 0; v < kWide; ++v) {
        if (kWhole || i < places) sums[i][v] = get(y + i * a.y_stride, v) + sums[i][v];
      }
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < kUsed; ++i, y += a.y_stride) {
    if (!kWhole && i >= places) break;
#pragma GCC unroll 4
    for (int v = 0; v < kWide; ++v) {
      if (kWhole || v + 1 < kWide || last == kLanes) {
        store(y + v * kLanes, sums[i][v]);
      } else {
        store_part(y + v * kLanes, sums[i][v], last);
      }
    }
  }
}

template <int kWide>
void places_tiles(const ConvPlacesArgs& a) {
  const int64_t last = a.n - (kWide - 1) * kLanes;
  const float* const* x = a.x;
  float* y = a.y;
  int64_t left = a.places;
  for (; last == kLanes && left >= kPlaces; left -= kPlaces) {
    places_part<kPlaces, kWide, true>(a, x, y, kPlaces, last);
    x += a.x_stride;
    y += kPlaces * a.y_stride;
  }
  for (; left > kPlaces / 2; left -= kPlaces) {
    places_part<kPlaces, kWide, false>(a, x, y, left, last);
    x += a.x_stride;
    y += kPlaces * a.y_stride;
  }
  if (left > 0) places_part<kPlaces / 2, kWide, false>(a, x, y, left, last);
}

void places_tile(const ConvPlacesArgs& a) noexcept {
  const int64_t vectors = (a.n + kLanes - 1) / kLanes;
  if constexpr (kOutputVectors > 2) {
    if (vectors == 4) return places_tiles<4>(a);
    if (vectors == 3) return places_tiles<3>(a);
  }
  if (vectors == 2) return places_tiles<2>(a);
  if (vectors == 1) return places_tiles<1>(a);
}

// kUsed places from pointers x on, kWide vectors of their channels from channel n on, the last of
// `last` elements.
template <bool kSum, int kUsed, int kWide, bool kWhole>
PIPPIN_VEC void channels_part(const ConvChannelsArgs& a, const float* const* pointers, float* y,
                              int64_t n, int64_t last) {
  const auto get = [&](const float* p, int v) {
    return kWhole ? load(p + v * kLanes) : load_part(p + v * kLanes, last);
  };
  const int64_t first = a.first + n;
  for (int64_t begin = 0; begin == 0 || begin < a.taps; begin += kTaps) {
    const int64_t end = smaller_of(a.taps, begin + kTaps);
    F values[kUsed][kWide];
#pragma GCC unroll 4
    for (int v = 0; v < kWide; ++v) {
      const bool biased = kSum && begin == 0 && a.bias != nullptr;
      const F start = !kSum ? set(-__builtin_inff()) : biased ? get(a.bias + n, v) : set(0);
#pragma GCC unroll 6
      for (int i = 0; i < kUsed; ++i) values[i][v] = start;
    }
    const float* const* x = pointers + begin * kPlaces;
    const float* w = kSum && a.w != nullptr ? a.w + begin * a.w_stride + n : nullptr;
    for (int64_t tap = begin; tap < end; ++tap, x += kPlaces) {
      F weights[kWide];
#pragma GCC unroll 4
      for (int v = 0; v < kWide; ++v) weights[v] = w != nullptr ? get(w, v) : set(1);
      if (w != nullptr) w += a.w_stride;
#pragma GCC unroll 6
      for (int i = 0; i < kUsed; ++i) {
        const float* from = x[i] + first;
#pragma GCC unroll 4
        for (int v = 0; v < kWide; ++v) {
          const F element = get(from, v);
          values[i][v] =
              kSum ? fma(element, weights[v], values[i][v]) : larger(values[i][v], element);
        }
      }
    }
#pragma GCC unroll 6
    for (int i = 0; i < kUsed; ++i) {
      float* to = y + i * a.y_stride + n;
#pragma GCC unroll 4
      for (int v = 0; v < kWide; ++v) {
        F value = values[i][v];
        if (begin > 0) {
          const F before = get(to, v);
          value = kSum ? before + value : larger(before, value);
        }
        kWhole ? store(to + v * kLanes, value) : store_part(to + v * kLanes, value, last);
      }
    }
  }
}

template <bool kSum, int kUsed, int kWide>
PIPPIN_VEC void channels_of(const ConvChannelsArgs& a, const float* const* x, float* y) {
  int64_t n = 0;
  for (; n + kWide * kLanes <= a.n; n += kWide * kLanes) {
    channels_part<kSum, kUsed, kWide, true>(a, x, y, n, kLanes);
  }
  for (; n + kLanes <= a.n; n += kLanes) channels_part<kSum, kUsed, 1, true>(a, x, y, n, kLanes);
  if (n < a.n) channels_part<kSum, kUsed, 1, false>(a, x, y, n, a.n - n);
}

template <bool kSum>
void channels(const ConvChannelsArgs& a) {
  const float* const* x = a.x;
  float* y = a.y;
  int64_t left = a.places;
  for (; left >= kPlaces; left -= kPlaces, x += a.x_stride, y += kPlaces * a.y_stride) {
    channels_of<kSum, kPlaces, 2>(a, x, y);
  }
  for (; left > 0; --left, ++x, y += a.y_stride) channels_of<kSum, 1, 4>(a, x, y);
}

void channels_sum(const ConvChannelsArgs& a) noexcept {
  channels<true>(a);
}
void channels_max(const ConvChannelsArgs& a) noexcept {
  channels<false>(a);
}

}  // namespace
}  // namespace pippin::kernels
