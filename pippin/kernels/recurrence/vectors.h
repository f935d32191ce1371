// recurrence.h over the vectors of vec/: an ISA file includes one vec header and vec/math.h, then
// this.
//
// A few rows at a time keep a stretch of their states in registers while all tokens pass; the sums
// of further stretches are added to y.
#pragma once

#include "pippin/kernels/recurrence/args.h"

namespace pippin::kernels {
namespace {

constexpr int kRows = 4;                          // at a time, as sum4 takes them
constexpr int kStretch = kManyRegisters ? 4 : 1;  // vectors of each row's state in registers

// Elements [from, from + kVectors * kLanes) of a row, or fewer of one vector.
struct Everything {
  PIPPIN_VEC F at(const float* p) const { return load(p); }
  PIPPIN_VEC void put(float* p, F x) const { store(p, x); }
};
struct Rest {
  int64_t count;
  PIPPIN_VEC F at(const float* p) const { return load_part(p, count); }
  PIPPIN_VEC void put(float* p, F x) const { store_part(p, x, count); }
};

// Rows [row, row + kCount) over elements [from, from + vectors).
template <int kCount, int kVectors, typename Decay, typename Lanes>
PIPPIN_VEC void recur_stretch(const RecurrenceArgs& a, const Decay& decay, int64_t row,
                              int64_t from, const Lanes& lanes) {
  F state[kCount][kVectors];
  F rates[kCount][kVectors];
  constexpr bool kOwn = Decay::kOwnRates;
  for (int r = 0; r < kCount; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = from + v * kLanes;
      state[r][v] = lanes.at(a.state + (row + r) * a.state_stride + at);
      if constexpr (kOwn) rates[r][v] = lanes.at(decay.rates(row + r) + at);
    }
  }
  for (int64_t t = 0; t < a.tokens; ++t) {
    F sums[kRows];
    for (int r = 0; r < kRows; ++r) sums[r] = set(0);
    const float* keys = a.keys + t * a.key_stride + from;
    const float* queries = a.queries + t * a.query_stride + from;
    const float* x = a.x + t * a.x_stride + row;
    for (int v = 0; v < kVectors; ++v) {
      const F key = lanes.at(keys + v * kLanes), query = lanes.at(queries + v * kLanes);
      for (int r = 0; r < kCount; ++r) {
        F factor;
        if constexpr (kOwn) {
          factor = exp(set(decay.step(t, row + r)) * rates[r][v]);
        } else {
          factor = set(decay.value(t));
        }
        state[r][v] = fma(state[r][v], factor, set(x[r]) * key);
        sums[r] = fma(state[r][v], query, sums[r]);
      }
    }
    float* y = a.y + t * a.y_stride + row;
    float total[4];
    store4(total, sum4(sums[0], sums[1], sums[2], sums[3]));
    for (int r = 0; r < kCount; ++r) y[r] = from == 0 ? total[r] : y[r] + total[r];
  }
  for (int r = 0; r < kCount; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      lanes.put(a.state + (row + r) * a.state_stride + from + v * kLanes, state[r][v]);
    }
  }
}

template <int kCount, typename Decay>
PIPPIN_VEC void recur_rows(const RecurrenceArgs& a, const Decay& decay, int64_t row) {
  int64_t from = 0;
  for (; from + kStretch * kLanes <= a.n; from += kStretch * kLanes) {
    recur_stretch<kCount, kStretch>(a, decay, row, from, Everything());
  }
  for (; from + kLanes <= a.n; from += kLanes) {
    recur_stretch<kCount, 1>(a, decay, row, from, Everything());
  }
  if (from < a.n) recur_stretch<kCount, 1>(a, decay, row, from, Rest{a.n - from});
}

template <typename Decay>
PIPPIN_VEC void recur(const RecurrenceArgs& a, const Decay& decay) {
  int64_t row = 0;
  for (; row + kRows <= a.rows; row += kRows) recur_rows<kRows>(a, decay, row);
  for (; row < a.rows; ++row) recur_rows<1>(a, decay, row);
}

struct DecayOfToken {
  static constexpr bool kOwnRates = false;
  const float* values;
  PIPPIN_VEC float value(int64_t t) const { return values[t]; }
};
struct DecayOfElement {
  static constexpr bool kOwnRates = true;
  const SelectiveDecay& given;
  PIPPIN_VEC const float* rates(int64_t row) const { return given.rates + row * given.rate_stride; }
  PIPPIN_VEC float step(int64_t t, int64_t row) const {
    return given.steps[t * given.step_stride + row];
  }
};

void decayed(const RecurrenceArgs& args, const float* decay) noexcept {
  recur(args, DecayOfToken{decay});
}

void selective(const RecurrenceArgs& args, const SelectiveDecay& decay) noexcept {
  recur(args, DecayOfElement{decay});
}

template <typename Lanes>
PIPPIN_VEC void recur_elements(const LinearRecurrenceArgs& a, int64_t i, const Lanes& lanes) {
  F state = lanes.at(a.state + i);
  for (int64_t t = 0; t < a.tokens; ++t) {
    state =
        fma(state, lanes.at(a.decay + t * a.decay_stride + i), lanes.at(a.x + t * a.x_stride + i));
    lanes.put(a.y + t * a.y_stride + i, state);
  }
  lanes.put(a.state + i, state);
}

void linear(const LinearRecurrenceArgs& a) noexcept {
  int64_t i = 0;
  for (; i + kLanes <= a.n; i += kLanes) recur_elements(a, i, Everything());
  if (i < a.n) recur_elements(a, i, Rest{a.n - i});
}

template <typename Lanes>
PIPPIN_VEC void convolve_elements(const CausalConvolutionArgs& a, int64_t t, int64_t i,
                                  const Lanes& lanes) {
  const int64_t before = a.taps - 1;
  F sum = a.bias != nullptr ? lanes.at(a.bias + i) : set(0);
  for (int64_t k = 0; k < a.taps; ++k) {
    const int64_t row = t + k;
    const float* x =
        row < before ? a.past + row * a.past_stride : a.x + (row - before) * a.x_stride;
    sum = fma(lanes.at(a.weight + k * a.weight_stride + i), lanes.at(x + i), sum);
  }
  lanes.put(a.y + t * a.y_stride + i, sum);
}

void convolution(const CausalConvolutionArgs& a) noexcept {
  for (int64_t t = 0; t < a.tokens; ++t) {
    int64_t i = 0;
    for (; i + kLanes <= a.n; i += kLanes) convolve_elements(a, t, i, Everything());
    if (i < a.n) convolve_elements(a, t, i, Rest{a.n - i});
  }
}

constexpr RecurrenceKernels table(const char* name) {
  return {name, decayed, selective, linear, convolution};
}

}  // namespace
}  // namespace pippin::kernels
