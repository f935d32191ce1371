// recurrence.h over the vectors of vec/: an ISA file includes one vec header and vec/math.h, then
// this.
//
// A few rows at a time keep a stretch of their states in registers during the pass over all tokens;
// the sums of further stretches are added to y.
#pragma once

#include "pippin/kernels/recurrence/args.h"
#include "pippin/kernels/recurrence/vector_pass.h"

namespace pippin::kernels {
namespace {

constexpr int kRows = 4;                          // at a time, as sum4 takes them
constexpr int kStretch = kManyRegisters ? 4 : 1;  // vectors of each row's state in registers

// Elements [from, from + kVectors * kLanes) of a row, or fewer of one vector.
struct Everything {
  PIPPIN_VEC F at(const float* p) const { return load(p); }
  PIPPIN_VEC void put(float* p, F x) const { store(p, x); }
  PIPPIN_VEC F at(const uint16_t* p) const { return load_f16(p); }
  PIPPIN_VEC void put(uint16_t* p, F x) const { store_f16(p, x); }
};
struct Rest {
  int64_t count;
  PIPPIN_VEC F at(const float* p) const { return load_part(p, count); }
  PIPPIN_VEC void put(float* p, F x) const { store_part(p, x, count); }
  PIPPIN_VEC F at(const uint16_t* p) const { return load_part_f16(p, count); }
  PIPPIN_VEC void put(uint16_t* p, F x) const {
    uint16_t halves[kLanes];
    store_f16(halves, x);
    for (int64_t i = 0; i < count; ++i) p[i] = halves[i];
  }
};

// Rows [row, row + kCount), elements [from, from + vectors). State: float, or uint16_t for fp16.
template <int kCount, int kVectors, typename State, typename Decay, typename Lanes>
PIPPIN_VEC void recur_stretch(const RecurrenceArgs& a, State* states, const Decay& decay,
                              int64_t row, int64_t from, const Lanes& lanes) {
  F state[kCount][kVectors];
  F rates[kCount][kVectors];
  constexpr bool kOwn = Decay::kOwnRates;
  for (int r = 0; r < kCount; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = from + v * kLanes;
      state[r][v] = lanes.at(states + (row + r) * a.state_stride + at);
      if constexpr (kOwn) rates[r][v] = lanes.at(decay.rates(row + r) + at);
    }
  }
  for (int64_t t = 0; t < a.tokens; ++t) {
    F sums[kRows];
    for (int r = 0; r < kRows; ++r) sums[r] = set(0);
    const float* keys = a.keys + t * a.key_stride + from;
    const float* queries = a.queries + t * a.query_stride + from;
    const float* x = a.x + t * a.x_stride + row;
    const float scale = a.scales == nullptr ? 1 : a.scales[t];
    for (int v = 0; v < kVectors; ++v) {
      const F key = lanes.at(keys + v * kLanes), query = lanes.at(queries + v * kLanes);
      for (int r = 0; r < kCount; ++r) {
        F factor;
        if constexpr (kOwn) {
          factor = exp(set(decay.step(t, row + r)) * rates[r][v]);
        } else {
          factor = set(decay.value(t));
        }
        state[r][v] = fma(state[r][v], factor, set(x[r] * scale) * key);
        sums[r] = fma(state[r][v], query, sums[r]);
      }
    }
    float* y = a.y + t * a.y_stride + row;
    float total[4];
    store4(total, sum4(sums[0], sums[1], sums[2], sums[3]));
    for (int r = 0; r < kCount; ++r) {
      if (from > 0) total[r] += y[r];
      if (from == 0 && a.skip != nullptr) total[r] += *a.skip * x[r];
      y[r] = total[r];
    }
  }
  for (int r = 0; r < kCount; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      lanes.put(states + (row + r) * a.state_stride + from + v * kLanes, state[r][v]);
    }
  }
}

template <int kCount, typename State, typename Decay>
PIPPIN_VEC void recur_rows(const RecurrenceArgs& a, State* states, const Decay& decay,
                           int64_t row) {
  int64_t from = 0;
  for (; from + kStretch * kLanes <= a.n; from += kStretch * kLanes) {
    recur_stretch<kCount, kStretch>(a, states, decay, row, from, Everything());
  }
  for (; from + kLanes <= a.n; from += kLanes) {
    recur_stretch<kCount, 1>(a, states, decay, row, from, Everything());
  }
  if (from < a.n) recur_stretch<kCount, 1>(a, states, decay, row, from, Rest{a.n - from});
}

template <typename State, typename Decay>
PIPPIN_VEC void recur_all(const RecurrenceArgs& a, State* states, const Decay& decay) {
  int64_t row = 0;
  for (; row + kRows <= a.rows; row += kRows) recur_rows<kRows>(a, states, decay, row);
  for (; row < a.rows; ++row) recur_rows<1>(a, states, decay, row);
}

template <typename Decay>
PIPPIN_VEC void recur(const RecurrenceArgs& a, const Decay& decay) {
  if (a.state != nullptr) {
    recur_all(a, a.state, decay);
  } else {
    recur_all(a, a.halves, decay);
  }
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

// The products of kCount rows with a token's key over a vector's elements.
template <int kCount, typename State, typename Lanes>
PIPPIN_VEC void add_known(const RecurrenceArgs& a, const State* states, const float* keys,
                          int64_t from, F* known, const Lanes& lanes) {
  const F key = lanes.at(keys + from);
  for (int r = 0; r < kCount; ++r) {
    known[r] = fma(lanes.at(states + r * a.state_stride + from), key, known[r]);
  }
}

// Their update: decay and addition, and the products with the query.
template <int kCount, typename State, typename Lanes>
PIPPIN_VEC void step_rows(const RecurrenceArgs& a, State* states, int64_t t, int64_t from, F factor,
                          const F* added, F* sums, const Lanes& lanes) {
  const F key = lanes.at(a.keys + t * a.key_stride + from);
  const F query = lanes.at(a.queries + t * a.query_stride + from);
  for (int r = 0; r < kCount; ++r) {
    State* place = states + r * a.state_stride + from;
    const F value = fma(lanes.at(place), factor, added[r] * key);
    lanes.put(place, value);
    sums[r] = fma(value, query, sums[r]);
  }
}

template <int kCount, typename State>
PIPPIN_VEC void delta_rows(const RecurrenceArgs& a, State* states, const DeltaDecay& decay,
                           int64_t row) {
  states += row * a.state_stride;
  const int64_t whole = a.n / kLanes * kLanes;
  const Rest rest = {a.n - whole};
  for (int64_t t = 0; t < a.tokens; ++t) {
    F sums[kRows], added[kRows];
    for (int r = 0; r < kRows; ++r) sums[r] = set(0);
    const float* keys = a.keys + t * a.key_stride;
    for (int64_t i = 0; i < whole; i += kLanes) {
      add_known<kCount>(a, states, keys, i, sums, Everything());
    }
    if (whole < a.n) add_known<kCount>(a, states, keys, whole, sums, rest);
    float total[4];
    store4(total, sum4(sums[0], sums[1], sums[2], sums[3]));
    const float* x = a.x + t * a.x_stride + row;
    for (int r = 0; r < kRows; ++r) {
      sums[r] = set(0);
      added[r] = set(r < kCount ? decay.rates[t] * (x[r] - decay.decay[t] * total[r]) : 0);
    }
    const F factor = set(decay.decay[t]);
    for (int64_t i = 0; i < whole; i += kLanes) {
      step_rows<kCount>(a, states, t, i, factor, added, sums, Everything());
    }
    if (whole < a.n) step_rows<kCount>(a, states, t, whole, factor, added, sums, rest);
    store4(total, sum4(sums[0], sums[1], sums[2], sums[3]));
    for (int r = 0; r < kCount; ++r) {
      const float skipped = a.skip == nullptr ? 0 : *a.skip * x[r];
      a.y[t * a.y_stride + row + r] = total[r] + skipped;
    }
  }
}

template <typename State>
PIPPIN_VEC void delta_all(const RecurrenceArgs& a, State* states, const DeltaDecay& decay) {
  int64_t row = 0;
  for (; row + kRows <= a.rows; row += kRows) delta_rows<kRows>(a, states, decay, row);
  for (; row < a.rows; ++row) delta_rows<1>(a, states, decay, row);
}

void delta(const RecurrenceArgs& args, const DeltaDecay& decay) noexcept {
  if (args.state != nullptr) {
    delta_all(args, args.state, decay);
  } else {
    delta_all(args, args.halves, decay);
  }
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
  lanes.put(a.y + t * a.y_stride + i, a.silu ? silu(sum) : sum);
}

void convolution(const CausalConvolutionArgs& a) noexcept {
  for (int64_t t = 0; t < a.tokens; ++t) {
    int64_t i = 0;
    for (; i + kLanes <= a.n; i += kLanes) convolve_elements(a, t, i, Everything());
    if (i < a.n) convolve_elements(a, t, i, Rest{a.n - i});
  }
}

constexpr RecurrenceKernels table(const char* name) {
  return {name, decayed, selective, delta, decayed_pass, delta_pass, linear, convolution};
}

}  // namespace
}  // namespace pippin::kernels
