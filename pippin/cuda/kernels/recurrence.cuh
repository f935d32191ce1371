// Recurrences over tokens, and the short convolutions before them.
#pragma once

#include "pippin/cuda/kernels/blocks.cuh"
#include "pippin/cuda/kernels/recurrence_args.h"

namespace pippin::cuda {

DEVICE float read_state(const void* state, bool in_halves, int64_t i) {
  return in_halves ? half_to_float(static_cast<const uint16_t*>(state)[i])
                   : static_cast<const float*>(state)[i];
}
DEVICE void write_state(void* state, bool in_halves, int64_t i, float x) {
  if (in_halves) {
    static_cast<uint16_t*>(state)[i] = float_to_half(x);
  } else {
    static_cast<float*>(state)[i] = x;
  }
}
DEVICE float rounded_to_half(float x) {
  return half_to_float(float_to_half(x));
}

// Sums of `lanes` neighbours, a power of 2 up to 32.
DEVICE float lanes_sum(float v, int lanes) {
  for (int mask = 16; mask > 0; mask >>= 1) {
    const float other = across_lanes(v, mask);
    if (mask < lanes) v += other;
  }
  return v;
}

// A thread's part of a row: its elements of the state are `lanes` apart.
template <int kElements>
struct RecurrentRow {
  // The numbers of one token.
  struct Token {
    float x, decay, rate, scale;
    float keys[kElements], queries[kElements];
  };

  const RecurrenceArgs& a;
  int group, head, row, lane;
  bool exists;

  DEVICE explicit RecurrentRow(const RecurrenceArgs& args) : a(args) {
    const int64_t thread = static_cast<int64_t>(blockIdx.x) * block_threads() + thread_index();
    const int64_t all = thread / a.lanes, place = all / a.rows;
    lane = static_cast<int>(thread % a.lanes);
    row = static_cast<int>(all % a.rows);
    exists = place < static_cast<int64_t>(a.groups) * a.heads;
    group = exists ? static_cast<int>(place / a.heads) : 0;
    head = exists ? static_cast<int>(place % a.heads) : 0;
  }

  DEVICE float number(const TokenNumbers& numbers, int64_t t, float without) const {
    if (numbers.data == nullptr) return without;
    return numbers.data[group * numbers.group + head * numbers.head + t * numbers.token];
  }
  DEVICE int64_t place_of(const TokenRows& rows, int64_t t) const {
    return group * rows.group + head * rows.head + t * rows.token + row;
  }
  DEVICE Token load(int64_t t) const {
    Token token;
    token.x = a.x.data[place_of(a.x, t)];
    token.decay = a.steps != nullptr ? a.steps[t * a.step_token + row] : number(a.log_decay, t, 0);
    token.rate = number(a.rates, t, 0);
    token.scale = number(a.scales, t, 1);
    for (int e = 0; e < kElements; ++e) {
      const int i = lane + e * a.lanes;
      const bool has_element = i < a.n;
      token.keys[e] = has_element ? a.keys.data[group * a.keys.group + t * a.keys.token + i] : 0.0f;
      token.queries[e] =
          has_element ? a.queries.data[group * a.queries.group + t * a.queries.token + i] : 0.0f;
    }
    return token;
  }

  DEVICE void run() const {
    const int64_t first = group * a.state_group + head * a.state_head + row * a.state_row;
    float state[kElements], step_rates[kElements];
    for (int e = 0; e < kElements; ++e) {
      const int i = lane + e * a.lanes;
      state[e] = i < a.n ? read_state(a.state, a.in_halves, first + i) : 0.0f;
      step_rates[e] =
          a.steps != nullptr && i < a.n ? a.step_rates[row * a.step_rate_row + i] : 0.0f;
    }
    const float skip = number(a.skip, 0, 0);
    Token next = load(0);
    for (int64_t t = 0; t < a.tokens; ++t) {
      const Token token = next;
      if (t + 1 < a.tokens) next = load(t + 1);  // on its way meanwhile
      const float decay = expf(token.decay);
      float added = token.x * token.scale;
      if (a.rates.data != nullptr) {  // what the state lacks of x
        float known = 0;
        for (int e = 0; e < kElements; ++e) known = fmaf(state[e], token.keys[e], known);
        known = lanes_sum(known, a.lanes);
        added = token.rate * (token.x - decay * known);
      }
      float sum = 0;
      for (int e = 0; e < kElements; ++e) {
        const float kept = a.steps != nullptr ? expf(token.decay * step_rates[e]) : decay;
        state[e] = fmaf(kept, state[e], added * token.keys[e]);
        sum = fmaf(state[e], token.queries[e], sum);
        if (a.rounds) state[e] = rounded_to_half(state[e]);
      }
      sum = lanes_sum(sum, a.lanes);
      if (lane == 0 && exists) {
        a.y.data[place_of(a.y, t)] = a.skip.data != nullptr ? fmaf(skip, token.x, sum) : sum;
      }
    }
    if (!exists) return;
    for (int e = 0; e < kElements; ++e) {
      const int i = lane + e * a.lanes;
      if (i < a.n) write_state(a.state, a.in_halves, first + i, state[e]);
    }
  }
};

// s = decay * s + added * keys, y = s . queries + skip * x, for each row; see engine::DecayedNode
// and SelectiveNode.
DEVICE void recurrence_body(const RecurrenceArgs& a) {
  const int elements = (a.n + a.lanes - 1) / a.lanes;
  if (elements <= 1) {
    RecurrentRow<1>(a).run();
  } else if (elements <= 2) {
    RecurrentRow<2>(a).run();
  } else if (elements <= 4) {
    RecurrentRow<4>(a).run();
  } else {
    RecurrentRow<8>(a).run();
  }
}

// s = decay * s + x, y = s, for each element.
DEVICE void linear_recurrence_body(const LinearRecurrenceArgs& a) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * block_threads() + thread_index();
  if (i >= a.n) return;
  float state = read_state(a.state, a.in_halves, i);
  float decay = a.decay[i], x = a.x[i];
  for (int64_t t = 0; t < a.tokens; ++t) {
    state = fmaf(decay, state, x);
    if (t + 1 < a.tokens) {
      decay = a.decay[(t + 1) * a.decay_token + i];
      x = a.x[(t + 1) * a.x_token + i];
    }
    a.y[t * a.y_token + i] = state;
    if (a.rounds) state = rounded_to_half(state);
  }
  write_state(a.state, a.in_halves, i, state);
}

// y[t] = f(bias + sum of weight[k] * x[t + k - (taps - 1)]) for each feature; the x before those of
// the tokens are in the state.
DEVICE void convolution_body(const ConvolutionArgs& a) {
  constexpr int kTaps = ConvolutionArgs::kMostTaps;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * block_threads() + thread_index();
  if (i >= a.features) return;
  const int64_t first = static_cast<int64_t>(blockIdx.z) * ConvolutionArgs::kTokens;
  const int64_t end =
      first + ConvolutionArgs::kTokens < a.tokens ? first + ConvolutionArgs::kTokens : a.tokens;
  const int kept = a.taps - 1;
  // The newest last: of fewer taps, the first ones are zeros.
  float weight[kTaps], window[kTaps];
  for (int k = 0; k < kTaps; ++k) {
    const int tap = k - (kTaps - a.taps);
    weight[k] = tap >= 0 ? a.weight[tap * a.weight_tap + i] : 0.0f;
    window[k] = 0;
    const int64_t row = first + tap;  // of the past followed by x
    if (tap >= 0 && tap < kept) {
      window[k] = row < kept ? read_state(a.state, a.in_halves, row * a.state_row + i)
                             : a.x[(row - kept) * a.x_token + i];
    }
  }
  const float bias = a.bias != nullptr ? a.bias[i] : 0.0f;
  float next = a.x[first * a.x_token + i];
  for (int64_t t = first; t < end; ++t) {
    window[kTaps - 1] = next;
    if (t + 1 < end) next = a.x[(t + 1) * a.x_token + i];
    float sum = bias;
    for (int k = 0; k < kTaps; ++k) sum = fmaf(weight[k], window[k], sum);
    a.y[t * a.y_token + i] = a.has_silu ? sum / (1 + expf(-sum)) : sum;
    if (a.rounds) window[kTaps - 1] = rounded_to_half(window[kTaps - 1]);
    for (int k = 0; k + 1 < kTaps; ++k) window[k] = window[k + 1];
  }
  if (a.tokens > ConvolutionArgs::kTokens) return;
  for (int k = 0; k + 1 < kTaps; ++k) {  // moved by one: the newest is before the last place
    const int row = k - (kTaps - a.taps);
    if (row >= 0) write_state(a.state, a.in_halves, row * a.state_row + i, window[k]);
  }
}

// The last rows of x become the state.
DEVICE void convolution_state_body(const ConvolutionArgs& a) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * block_threads() + thread_index();
  if (i >= a.features) return;
  const int kept = a.taps - 1;
  for (int row = 0; row < kept; ++row) {
    const float x = a.x[(a.tokens - kept + row) * a.x_token + i];
    write_state(a.state, a.in_halves, row * a.state_row + i, x);
  }
}

}  // namespace pippin::cuda
