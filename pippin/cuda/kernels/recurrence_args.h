// The arguments of recurrence.cuh. Strides are in elements; the last axes of the arrays have unit
// stride. A state may be in fp16; it is rounded after each token if `rounds`, otherwise at the end.
#pragma once

#include <cstdint>

namespace pippin::cuda {

// Of [group, head, token].
struct TokenNumbers {
  const float* data;  // null: none
  int64_t group, head, token;
};
struct TokenRows {
  float* data;
  int64_t group, head, token;
};

// Rows of a state [group, head, row, n], as engine::DecayedNode has them; each is `lanes` threads',
// which have up to kMostOfLane elements each. `steps` [token, row] and `step_rates` [row, n]
// instead of the decay: engine::SelectiveNode.
struct RecurrenceArgs {
  static constexpr int kMostOfLane = 8;

  void* state;
  int64_t state_group, state_head, state_row;
  TokenRows y, x;
  TokenNumbers keys, queries;  // without heads
  TokenNumbers log_decay, rates, scales;
  TokenNumbers skip;  // without tokens
  const float *steps, *step_rates;
  int64_t step_token, step_rate_row;
  int32_t groups, heads, rows, n, tokens, lanes;
  bool in_halves, rounds;
};

struct LinearRecurrenceArgs {
  float* y;
  void* state;
  const float *decay, *x;
  int64_t y_token, decay_token, x_token;
  int64_t n, tokens;
  bool in_halves, rounds;
};

// A thread for each feature and kTokens tokens (blockIdx.z). The state, of taps - 1 rows, is
// replaced if there is one such part; otherwise convolution_state does that afterwards.
struct ConvolutionArgs {
  static constexpr int kMostTaps = 8, kTokens = 32;

  float* y;
  void* state;
  const float *x, *weight, *bias;  // bias: or null
  int64_t y_token, state_row, x_token, weight_tap;
  int64_t features, tokens;
  int32_t taps;
  bool in_halves, rounds, has_silu;
};

}  // namespace pippin::cuda
