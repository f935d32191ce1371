// The arguments of recurrence.h and the tables of kernels.inc. Included by files that are compiled
// for one instruction set: no inline functions here.
#pragma once

#include <cstdint>

namespace pippin::kernels {

// Updates some rows of a state with some tokens, in order:
//
//   s[r, :] = decay(t, r, :) * s[r, :] + scales[t] * x[t, r] * keys[t, :]
//   y[t, r] = s[r, :] · queries[t, :] + skip * x[t, r]
//
// Strides are in elements; the elements of a row, a key and a query are contiguous, and so are
// those of x and y that belong to one token.
struct RecurrenceArgs {
  float* state;          // null: in fp16, which processes one token at a time
  uint16_t* halves;      // or null
  int64_t state_stride;  // between rows
  const float* x;
  int64_t x_stride;  // between tokens
  const float *keys, *queries;
  int64_t key_stride, query_stride;  // between tokens
  float* y;
  int64_t y_stride;  // between tokens
  int64_t rows, n, tokens;
  const float* scales;  // null: 1
  const float* skip;    // null: no skip
};

// decay = exp(steps[t, r] * rates[r, :]).
struct SelectiveDecay {
  const float* steps;
  int64_t step_stride;  // between tokens
  const float* rates;
  int64_t rate_stride;  // between rows
};

// The update adds rates[t] * (x[t, r] - decay[t] * s[r, :] · keys[t, :]), the part of x that s
// lacks, instead of scales[t] * x[t, r].
struct DeltaDecay {
  const float *decay, *rates;  // for each token
};

// The number of scratch floats of `pass` and `delta_pass`, for rows of n elements.
constexpr int64_t kPassTokens = 64;  // at a time
constexpr int64_t kPassRows = 32;    // maximum
constexpr int64_t pass_scratch(int64_t n) {
  return kPassRows * (n + 2 * kPassTokens) + 3 * kPassTokens;
}

// s[i] = decay[t, i] * s[i] + x[t, i] for n elements; y[t, i] is s[i] after the update.
struct LinearRecurrenceArgs {
  float* state;
  const float *decay, *x;
  float* y;
  int64_t decay_stride, x_stride, y_stride;  // between tokens
  int64_t n, tokens;
};

// y[t, i] = f(bias[i] + sum over taps k of weight[k, i] * x[t + k, i]), where x[j] is row j of
// `past`, which has taps - 1 rows, and then row j - taps + 1 of `x`. Rows have n elements.
struct CausalConvolutionArgs {
  const float *past, *x;
  const float *weight, *bias;  // bias: or null
  float* y;
  int64_t past_stride, x_stride, weight_stride, y_stride;  // between rows
  int64_t n, taps, tokens;
  bool silu;  // f is silu(x); otherwise x
};

struct RecurrenceKernels {
  const char* name;

  // decay[t] applies to all elements of all rows.
  void (*decayed)(const RecurrenceArgs& args, const float* decay) noexcept;
  void (*selective)(const RecurrenceArgs& args, const SelectiveDecay& decay) noexcept;
  void (*delta)(const RecurrenceArgs& args, const DeltaDecay& decay) noexcept;
  // Like `decayed` and `delta` up to rounding, but faster for many tokens and rows.
  void (*decayed_pass)(const RecurrenceArgs& args, const float* decay, float* scratch) noexcept;
  void (*delta_pass)(const RecurrenceArgs& args, const DeltaDecay& decay, float* scratch) noexcept;
  void (*linear)(const LinearRecurrenceArgs& args) noexcept;
  void (*convolution)(const CausalConvolutionArgs& args) noexcept;
};

#define PIPPIN_RECURRENCE(flag, name) extern const RecurrenceKernels name;
#include "pippin/kernels/recurrence/kernels.inc"
#undef PIPPIN_RECURRENCE

}  // namespace pippin::kernels
