// Kernels for channels-last data (args.h), over the vectors of vec/.
#pragma once

#include "pippin/kernels/conv/args.h"

namespace pippin::kernels {
namespace {

// 6 positions of 2 vectors of outputs are 12 sums in 16 registers, next to their weights and one
// element of x; with 4 vectors, 24 in 32.
constexpr int kPlaces = static_cast<int>(kConvPlaces);
constexpr int kOutputVectors = kManyRegisters ? 4 : 2;
constexpr int64_t kOutputs = kOutputVectors * kLanes;

PIPPIN_VEC F larger(F sticky, F x) {
  return select(sticky == sticky, max(sticky, x), sticky);
}

// The sum of this many taps is computed on its own and then added: long sums keep more digits.
constexpr int64_t kTaps = 16;

constexpr int64_t kLine = 16;  // elements of a cache line

// Pointers to x for the taps of some positions: one per position and tap, or one per tap for the
// first position only (args.h).
template <bool kRow>
struct Seen {
  const float* const* pointers;
  int64_t first;  // offset in elements from the pointers
  int64_t step;   // between positions in a row
  PIPPIN_VEC const float* at(int64_t tap, int64_t i) const {
    return kRow ? of_first(tap) + i * step : pointers[tap * kPlaces + i] + first;
  }
  PIPPIN_VEC const float* of_first(int64_t tap) const {
    const float* place = pointers[tap] + first;
    // Otherwise the compiler adds `first` to all distances, which are too many for the registers.
    __asm__("" : "+r"(place));
    return place;
  }
};

// kUsed positions that `seen` points to and kWide vectors of outputs. If not kWhole, only `places`
// positions exist and the last vector has `last` elements.
template <int kUsed, int kWide, bool kWhole, bool kRow>
PIPPIN_VEC void channels_last_part(const ChannelsLastConvArgs& a, Seen<kRow> seen, float* y,
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
  for (int64_t tap = 0; tap < a.taps; ++tap, panel += a.w_stride) {
    const float* x[kUsed];
#pragma GCC unroll 6
    for (int i = 0; i < kUsed; ++i) {
      // After the last position of a row there may be nothing to read.
      x[i] = seen.at(tap, kRow && !kWhole ? smaller_of(i, places - 1) : i);
    }
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
  const F least = set(a.bounds.least), most = set(a.bounds.most);
#pragma GCC unroll 6
  for (int i = 0; i < kUsed; ++i, y += a.y_stride) {
    if (!kWhole && i >= places) break;
#pragma GCC unroll 4
    for (int v = 0; v < kWide; ++v) {
      const F sum = min(most, max(least, sums[i][v]));
      if (kWhole || v + 1 < kWide || last == kLanes) {
        store(y + v * kLanes, sum);
      } else {
        store_part(y + v * kLanes, sum, last);
      }
    }
  }
}

template <int kWide, bool kRow>
void channels_last_tiles(const ChannelsLastConvArgs& a) {
  const int64_t last = a.n - (kWide - 1) * kLanes;
  Seen<kRow> seen{a.x, a.first, a.x_step};
  float* y = a.y;
  const auto move_on = [&] {
    if constexpr (kRow) {
      seen.first += kPlaces * a.x_step;
    } else {
      seen.pointers += a.x_stride;
    }
    y += kPlaces * a.y_stride;
  };
  int64_t left = a.places;
  for (; last == kLanes && left >= kPlaces; left -= kPlaces, move_on()) {
    channels_last_part<kPlaces, kWide, true>(a, seen, y, kPlaces, last);
  }
  for (; left > kPlaces / 2; left -= kPlaces, move_on()) {
    channels_last_part<kPlaces, kWide, false>(a, seen, y, left, last);
  }
  if (left > 0) channels_last_part<kPlaces / 2, kWide, false>(a, seen, y, left, last);
}

template <int kWide>
void channels_last_wide(const ChannelsLastConvArgs& a) {
  a.x_step > 0 ? channels_last_tiles<kWide, true>(a) : channels_last_tiles<kWide, false>(a);
}

void channels_last_tile(const ChannelsLastConvArgs& a) noexcept {
  const int64_t vectors = (a.n + kLanes - 1) / kLanes;
  if constexpr (kOutputVectors > 2) {
    if (vectors == 4) return channels_last_wide<4>(a);
    if (vectors == 3) return channels_last_wide<3>(a);
  }
  if (vectors == 2) return channels_last_wide<2>(a);
  if (vectors == 1) return channels_last_wide<1>(a);
}

// Sums or maxima of kWide vectors of channels at kUsed positions.
template <bool kSum, int kUsed, int kWide>
struct ChannelValues {
  F values[kUsed][kWide];

  template <typename Start>
  PIPPIN_VEC void begin(const Start& start) {
#pragma GCC unroll 4
    for (int v = 0; v < kWide; ++v) {
      const F first = start(v);
#pragma GCC unroll 6
      for (int i = 0; i < kUsed; ++i) values[i][v] = first;
    }
  }
  PIPPIN_VEC void take(int i, int v, F x, F weight) {
    values[i][v] = kSum ? fma(x, weight, values[i][v]) : larger(values[i][v], x);
  }
  // Stores to y, combined with its content unless these are the first taps.
  template <typename Get, typename Put>
  PIPPIN_VEC void end(float* y, int64_t y_stride, bool are_first, const Get& get, const Put& put) {
#pragma GCC unroll 6
    for (int i = 0; i < kUsed; ++i) {
      float* to = y + i * y_stride;
#pragma GCC unroll 4
      for (int v = 0; v < kWide; ++v) {
        F value = values[i][v];
        if (!are_first) {
          const F before = get(to, v);
          value = kSum ? before + value : larger(before, value);
        }
        put(to, v, value);
      }
    }
  }
};

// kUsed positions that `seen` points to, and kWide vectors of their channels from channel n on, the
// last with `last` elements. In a group of kTogether taps, each tap reads at one position what the
// previous one reads at the next: that is loaded once. kAll: the number of taps, all with weights,
// if it is known.
template <bool kSum, int kUsed, int kWide, bool kWhole, int kTogether, int kAll, bool kRow>
PIPPIN_VEC void channels_part(const ConvChannelsArgs& a, Seen<kRow> seen, float* y, int64_t n,
                              int64_t last) {
  const auto get = [&](const float* p, int v) {
    return kWhole ? load(p + v * kLanes) : load_part(p + v * kLanes, last);
  };
  const auto put = [&](float* p, int v, F x) {
    kWhole ? store(p + v * kLanes, x) : store_part(p + v * kLanes, x, last);
  };
  const int64_t taps = kAll > 0 ? kAll : a.taps, y_stride = a.y_stride, w_stride = a.w_stride;
  const bool weighted = kSum && (kAll > 0 || a.w != nullptr);
  const float* w = weighted ? a.w + n : nullptr;
  seen.first += n;
  for (int64_t begin = 0; begin == 0 || begin < taps; begin += kTaps / kTogether * kTogether) {
    const int64_t end = smaller_of(taps, begin + kTaps / kTogether * kTogether);
    ChannelValues<kSum, kUsed, kWide> sums;
    sums.begin([&](int v) {
      const bool biased = kSum && begin == 0 && a.bias != nullptr;
      return !kSum ? set(-__builtin_inff()) : biased ? get(a.bias + n, v) : set(0);
    });
    const auto take = [&](int64_t tap) {
      if constexpr (kTogether > 1) {
#pragma GCC unroll 4
        for (int v = 0; v < kWide; ++v) {
          F weights[kTogether];
#pragma GCC unroll 5
          for (int t = 0; t < kTogether; ++t) {
            weights[t] = weighted ? get(w + t * w_stride, v) : set(1);
          }
          const float* from = seen.of_first(tap);
#pragma GCC unroll 10
          for (int j = 0; j < kUsed + kTogether - 1; ++j, from += seen.step) {
            const F x = get(from, v);
#pragma GCC unroll 5
            for (int t = 0; t < kTogether; ++t) {
              if (j >= t && j - t < kUsed) sums.take(j - t, v, x, weights[t]);
            }
          }
        }
      } else {
        F weights[kWide];
#pragma GCC unroll 4
        for (int v = 0; v < kWide; ++v) weights[v] = weighted ? get(w, v) : set(1);
#pragma GCC unroll 6
        for (int i = 0; i < kUsed; ++i) {
          const float* from = seen.at(tap, i);
#pragma GCC unroll 4
          for (int v = 0; v < kWide; ++v) sums.take(i, v, get(from, v), weights[v]);
        }
      }
      if (weighted) w += kTogether * w_stride;
    };
    if constexpr (kAll > 0) {
#pragma GCC unroll 3
      for (int64_t tap = 0; tap < kAll; tap += kTogether) take(tap);
    } else {
      for (int64_t tap = begin; tap < end; tap += kTogether) take(tap);
    }
    if (kSum && end == taps) {
      const F least = set(a.bounds.least), most = set(a.bounds.most);
      sums.end(y + n, y_stride, begin == 0, get,
               [&](float* p, int v, F x) { put(p, v, min(most, max(least, x))); });
    } else {
      sums.end(y + n, y_stride, begin == 0, get, put);
    }
  }
}

template <bool kSum, int kUsed, int kWide, int kTogether, int kAll = 0, bool kRow>
PIPPIN_VEC void channels_of(const ConvChannelsArgs& a, Seen<kRow> seen, float* y) {
  int64_t n = 0;
  for (; kWide > 1 && n + kWide * kLanes <= a.n; n += kWide * kLanes) {
    channels_part<kSum, kUsed, kWide, true, kTogether, kAll>(a, seen, y, n, kLanes);
  }
  for (; n + kLanes <= a.n; n += kLanes) {
    channels_part<kSum, kUsed, 1, true, kTogether, kAll>(a, seen, y, n, kLanes);
  }
  if (n < a.n) channels_part<kSum, kUsed, 1, false, kTogether, kAll>(a, seen, y, n, a.n - n);
}

template <bool kSum>
void channels(const ConvChannelsArgs& a) {
  Seen<false> seen{a.x, a.first, 0};
  float* y = a.y;
  int64_t left = a.places;
  for (; left >= kPlaces; left -= kPlaces, seen.pointers += a.x_stride, y += kPlaces * a.y_stride) {
    channels_of<kSum, kPlaces, 2, 1>(a, seen, y);
  }
  for (; left > 0; --left, ++seen.pointers, y += a.y_stride) channels_of<kSum, 1, 4, 1>(a, seen, y);
}

template <bool kSum, int kWide, int kTogether, int kAll = 0>
void channels_of_row(const ConvChannelsArgs& a) {
  const auto at = [&](int64_t place) {
    return Seen<true>{a.x, a.first + place * a.x_step, a.x_step};
  };
  int64_t place = 0;
  for (; place + kPlaces <= a.places; place += kPlaces) {
    // Only the last row that the next tile reads is new; its lines are too far apart for the
    // hardware to predict.
    for (int64_t i = kPlaces; i < 2 * kPlaces && a.taps > 0; ++i) {
      const float* next = a.x[a.taps - 1] + a.first + (place + i) * a.x_step;
      for (int64_t n = 0; n < a.n; n += kLine) __builtin_prefetch(next + n);
    }
    channels_of<kSum, kPlaces, kWide, kTogether, kAll>(a, at(place), a.y + place * a.y_stride);
  }
  if (place < a.places && a.places > kPlaces) {
    // The last tile overlaps the previous one, and computes the same results there.
    place = a.places - kPlaces;
    channels_of<kSum, kPlaces, kWide, kTogether, kAll>(a, at(place), a.y + place * a.y_stride);
    return;
  }
  for (; place < a.places; ++place) {
    channels_of<kSum, 1, kWide, kTogether>(a, at(place), a.y + place * a.y_stride);
  }
}

template <bool kSum>
void channels_seen(const ConvChannelsArgs& a) {
  if (a.x_step <= 0) return channels<kSum>(a);
  if (kSum && a.together == 3 && a.taps == 9 && a.w != nullptr) {
    return channels_of_row<kSum, 2, 3, 9>(a);
  }
  if (a.together == 3) return channels_of_row<kSum, 1, 3>(a);
  if (a.together == 5) return channels_of_row<kSum, 1, 5>(a);
  channels_of_row<kSum, 2, 1>(a);
}

void channels_sum(const ConvChannelsArgs& a) noexcept {
  channels_seen<true>(a);
}
void channels_max(const ConvChannelsArgs& a) noexcept {
  channels_seen<false>(a);
}

}  // namespace
}  // namespace pippin::kernels
