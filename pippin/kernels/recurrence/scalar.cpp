// The reference: the formulas, with sums in double.
#include <cmath>

#include "pippin/base/numbers/float16.h"
#include "pippin/kernels/recurrence/args.h"

namespace pippin::kernels {
namespace {

// The elements of a row of a state, in fp32 or fp16.
struct Row {
  float* floats;
  uint16_t* halves;

  Row(const RecurrenceArgs& a, int64_t r)
      : floats(a.state == nullptr ? nullptr : a.state + r * a.state_stride),
        halves(a.state != nullptr ? nullptr : a.halves + r * a.state_stride) {}
  double at(int64_t i) const {
    return double{floats != nullptr ? floats[i] : to_float(float16{halves[i]})};
  }
  void put(int64_t i, float value) const {
    if (floats != nullptr) {
      floats[i] = value;
    } else {
      halves[i] = to_float16(value).bits;
    }
  }
};

// decay(t, r, i) of one element; added(t, r, row) is the factor of a row's keys.
template <typename Decay, typename Added>
void recur(const RecurrenceArgs& a, const Decay& decay, const Added& added) {
  for (int64_t t = 0; t < a.tokens; ++t) {
    const float* keys = a.keys + t * a.key_stride;
    const float* queries = a.queries + t * a.query_stride;
    for (int64_t r = 0; r < a.rows; ++r) {
      const Row row(a, r);
      const double x = added(t, r, row);
      double sum = 0;
      for (int64_t i = 0; i < a.n; ++i) {
        const auto value = static_cast<float>(decay(t, r, i) * row.at(i) + x * keys[i]);
        row.put(i, value);
        sum += double{value} * queries[i];
      }
      if (a.skip != nullptr) sum += double{*a.skip} * a.x[t * a.x_stride + r];
      a.y[t * a.y_stride + r] = static_cast<float>(sum);
    }
  }
}

auto given(const RecurrenceArgs& a) {
  return [&](int64_t t, int64_t r, const Row&) {
    return double{a.x[t * a.x_stride + r]} * (a.scales == nullptr ? 1 : a.scales[t]);
  };
}

void decayed(const RecurrenceArgs& args, const float* decay) noexcept {
  recur(
      args, [&](int64_t t, int64_t, int64_t) { return double{decay[t]}; }, given(args));
}

void selective(const RecurrenceArgs& args, const SelectiveDecay& d) noexcept {
  const auto decay = [&](int64_t t, int64_t r, int64_t i) {
    return std::exp(double{d.steps[t * d.step_stride + r]} * d.rates[r * d.rate_stride + i]);
  };
  recur(args, decay, given(args));
}

void delta(const RecurrenceArgs& a, const DeltaDecay& d) noexcept {
  const auto lacking = [&](int64_t t, int64_t r, const Row& row) {
    double known = 0;
    for (int64_t i = 0; i < a.n; ++i) known += row.at(i) * a.keys[t * a.key_stride + i];
    return d.rates[t] * (a.x[t * a.x_stride + r] - d.decay[t] * known);
  };
  recur(
      a, [&](int64_t t, int64_t, int64_t) { return double{d.decay[t]}; }, lacking);
}

void decayed_pass(const RecurrenceArgs& args, const float* decay, float*) noexcept {
  decayed(args, decay);
}

void delta_pass(const RecurrenceArgs& args, const DeltaDecay& decay, float*) noexcept {
  delta(args, decay);
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
      a.y[t * a.y_stride + i] = static_cast<float>(a.silu ? sum / (1 + std::exp(-sum)) : sum);
    }
  }
}

}  // namespace

const RecurrenceKernels recurrence_scalar = {
    "recurrence_scalar", decayed, selective, delta, decayed_pass, delta_pass, linear, convolution};

}  // namespace pippin::kernels
