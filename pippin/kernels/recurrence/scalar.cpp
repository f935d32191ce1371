// The reference: the formulas, with sums in double.
#include <cmath>

#include "pippin/kernels/recurrence/args.h"

namespace pippin::kernels {
namespace {

// decay(t, r, i) of one element.
template <typename Decay>
void recur(const RecurrenceArgs& a, const Decay& decay) {
  for (int64_t t = 0; t < a.tokens; ++t) {
    const float* keys = a.keys + t * a.key_stride;
    const float* queries = a.queries + t * a.query_stride;
    for (int64_t r = 0; r < a.rows; ++r) {
      float* state = a.state + r * a.state_stride;
      const float x = a.x[t * a.x_stride + r];
      double sum = 0;
      for (int64_t i = 0; i < a.n; ++i) {
        state[i] = static_cast<float>(decay(t, r, i) * double{state[i]} + double{x} * keys[i]);
        sum += double{state[i]} * queries[i];
      }
      a.y[t * a.y_stride + r] = static_cast<float>(sum);
    }
  }
}

void decayed(const RecurrenceArgs& args, const float* decay) noexcept {
  recur(args, [&](int64_t t, int64_t, int64_t) { return double{decay[t]}; });
}

void selective(const RecurrenceArgs& args, const SelectiveDecay& d) noexcept {
  recur(args, [&](int64_t t, int64_t r, int64_t i) {
    return std::exp(double{d.steps[t * d.step_stride + r]} * d.rates[r * d.rate_stride + i]);
  });
}

void linear(const LinearRecurrenceArgs& a) noexcept {
  for (int64_t t = 0; t < a.tokens; ++t) {
    for (int64_t i = 0; i < a.n; ++i) {
      const double kept = double{a.decay[t * a.decay_stride + i]} * a.state[i];
      a.state[i] = static_cast<float>(kept + a.x[t * a.x_stride + i]);
      a.y[t * a.y_stride + i] = a.state[i];
    }
  }
}

void convolution(const CausalConvolutionArgs& a) noexcept {
  const int64_t before = a.taps - 1;
  for (int64_t t = 0; t < a.tokens; ++t) {
    for (int64_t i = 0; i < a.n; ++i) {
      double sum = a.bias != nullptr ? a.bias[i] : 0;
      for (int64_t k = 0; k < a.taps; ++k) {
        const int64_t row = t + k;
        const float x =
            row < before ? a.past[row * a.past_stride + i] : a.x[(row - before) * a.x_stride + i];
        sum += double{a.weight[k * a.weight_stride + i]} * x;
      }
      a.y[t * a.y_stride + i] = static_cast<float>(sum);
    }
  }
}

}  // namespace

const RecurrenceKernels recurrence_scalar = {"recurrence_scalar", decayed, selective, linear,
                                             convolution};

}  // namespace pippin::kernels
