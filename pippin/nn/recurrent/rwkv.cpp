#include "pippin/nn/recurrent/rwkv.h"

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/recurrent/recurrence.h"

namespace pippin::nn {
namespace {

using array::Array;

CarriedState token_state(int64_t features) {
  return {"tokenCache", {1, 1, features}};
}
// Rows: the logarithm of a common factor, the weighted sum of values, the sum of weights.
CarriedState mean_state(const TimeMixOptions& options) {
  return {kRecurrentState, {3, 1, options.hidden_features}};
}

void refuse_recurrence(const Parameters& parameters) {
  if (parameters.style().convolutions) {
    fail(ErrorCode::Unsupported, "'{}': a recurrence has no form for this package family",
         parameters.path());
  }
}

// Each token, and the one before it.
class TokenPair {
 public:
  TokenPair(const Array& x, const MixerInput& input) : now_(x), before_(x) {
    const CarriedState state = token_state(x.dim(2).constant());
    const Array rows = array::concat({input.cache.carried(input.layer, state), x}, 1);
    const mil::Dim& tokens = x.dim(1);
    input.cache.carry(input.layer, state, array::slice_axis(rows, 1, tokens, tokens + 1));
    before_ = array::slice_axis(rows, 1, 0, tokens);
  }
  Array mixed(const Array& part) const { return before_ + (now_ - before_) * part; }

 private:
  Array now_, before_;
};

// Weighted means of values up to each token.
struct Means {
  Array factor, values, weights;  // (1, q, features), fp32
};

// Combines the means of two disjoint sets of tokens.
Means joined(const Means& a, const Means& b) {
  const Array factor = array::maximum(a.factor, b.factor);
  const Array of_a = array::exp(a.factor - factor), of_b = array::exp(b.factor - factor);
  return {factor, a.values * of_a + b.values * of_b, a.weights * of_a + b.weights * of_b};
}

class TimeMix final : public Mixer {
 public:
  TimeMix(const Parameters& parameters, const TimeMixOptions& options)
      : path_(parameters.path()),
        options_(options),
        mix_key_(parameters.get("time_mix_key", {1, 1, options.features})),
        mix_value_(parameters.get("time_mix_value", {1, 1, options.features})),
        mix_receptance_(parameters.get("time_mix_receptance", {1, 1, options.features})),
        key_(parameters.at("key"), options.features, options.hidden_features),
        value_(parameters.at("value"), options.features, options.hidden_features),
        receptance_(parameters.at("receptance"), options.features, options.hidden_features),
        decay_(decay_rates(parameters, "time_decay", {options.hidden_features},
                           [](double x) { return -std::exp(x); })),
        first_(parameters.get("time_first", {options.hidden_features})),
        output_(parameters.at("output"), options.hidden_features, options.features) {
    refuse_recurrence(parameters);
  }

  Array operator()(const Array& x, const MixerInput& input) const override {
    const array::Scope scope(path_);
    const TokenPair tokens(x, input);
    const Array keys = array::cast(key_(tokens.mixed(mix_key_)), kDecayType);
    const Array values = array::cast(value_(tokens.mixed(mix_value_)), kDecayType);
    const Array open = array::sigmoid(receptance_(tokens.mixed(mix_receptance_)));
    const Array ones = keys * 0.0 + 1.0;
    const CarriedState state = mean_state(options_);
    const Means start = stored(array::cast(input.cache.carried(input.layer, state), kDecayType));
    const Means all = joined(decayed(start, x.dim(1)), scanned({keys, values, ones}));
    const Means before = shifted(start, all, x.dim(1));
    const Array first = array::cast(first_, kDecayType);
    const Means own = joined(before, {keys + first, values, ones});
    input.cache.carry(input.layer, state, array::cast(last(all, x.dim(1)), x.type()));
    return output_(open * array::cast(own.values / own.weights, x.type()));
  }

 private:
  // Sums of weights are above 0 after the first token.
  static Means stored(const Array& rows) {
    const auto row = [&](int64_t index) { return array::slice_axis(rows, 0, index, index + 1); };
    const Array some = array::greater(row(2), array::constant(kDecayType, 0.0));
    return {array::select(some, row(0), array::constant(kDecayType, kNothing)), row(1), row(2)};
  }
  static Array last(const Means& all, const mil::Dim& q) {
    return array::slice_axis(array::concat({all.factor, all.values, all.weights}, 0), 1, q - 1, q);
  }

  // The initial state, decayed, at each token.
  Means decayed(const Means& start, const mil::Dim& q) const {
    const Array count = array::Builder::current().dim_array(q);
    const Array steps = array::cast(array::range(array::constant(0), count), kDecayType) + 1.0;
    const Array factor = start.factor + array::expand_dims(steps, {0, 2}) * decay_;
    return {factor, start.values, start.weights};
  }

  // Means up to each token of the pass, by doubling distances.
  Means scanned(Means means) const {
    const mil::Dim& q = means.factor.dim(1);
    const auto earlier = [&](const Array& x, int64_t distance, double nothing) {
      const std::vector<int64_t> padding = {0, 0, distance, 0, 0, 0};
      const Array longer = array::record_one(
          "pad",
          {{"x", x}, {"pad", padding}, {"constant_val", mil::Value::of_float(x.type(), nothing)}});
      return array::slice_axis(longer, 1, 0, q);
    };
    for (int64_t distance = 1; distance < q.upper(); distance *= 2) {
      const Array factor =
          earlier(means.factor, distance, kNothing) + decay_ * static_cast<double>(distance);
      means = joined(
          means, {factor, earlier(means.values, distance, 0), earlier(means.weights, distance, 0)});
    }
    return means;
  }

  // The means before each token.
  static Means shifted(const Means& start, const Means& all, const mil::Dim& q) {
    const auto before = [&](const Array& first, const Array& others) {
      return array::slice_axis(array::concat({first, others}, 1), 1, 0, q);
    };
    return {before(start.factor, all.factor), before(start.values, all.values),
            before(start.weights, all.weights)};
  }

  static constexpr double kNothing = -1e30;  // the logarithm of no weight

  std::string path_;
  TimeMixOptions options_;
  Array mix_key_, mix_value_, mix_receptance_;
  Linear key_, value_, receptance_;
  Array decay_, first_;
  Linear output_;
};

class ChannelMix final : public Mixer {
 public:
  ChannelMix(const Parameters& parameters, const ChannelMixOptions& options)
      : path_(parameters.path()),
        mix_key_(parameters.get("time_mix_key", {1, 1, options.features})),
        mix_receptance_(parameters.get("time_mix_receptance", {1, 1, options.features})),
        key_(parameters.at("key"), options.features, options.hidden_features),
        receptance_(parameters.at("receptance"), options.features, options.features),
        value_(parameters.at("value"), options.hidden_features, options.features) {
    refuse_recurrence(parameters);
  }

  Array operator()(const Array& x, const MixerInput& input) const override {
    const array::Scope scope(path_);
    const TokenPair tokens(x, input);
    const Array hidden = array::square(array::relu(key_(tokens.mixed(mix_key_))));
    return array::sigmoid(receptance_(tokens.mixed(mix_receptance_))) * value_(hidden);
  }

 private:
  std::string path_;
  Array mix_key_, mix_receptance_;
  Linear key_, receptance_, value_;
};

}  // namespace

MixerNeeds TimeMixOptions::needs() const {
  MixerNeeds needs;
  needs.name = "a mean over time";
  needs.states = {token_state(features), mean_state(*this)};
  return needs;
}

std::unique_ptr<const Mixer> TimeMixOptions::make(const Parameters& parameters) const {
  return std::make_unique<TimeMix>(parameters, *this);
}

MixerNeeds ChannelMixOptions::needs() const {
  MixerNeeds needs;
  needs.name = "a feed-forward of two tokens";
  needs.states = {token_state(features)};
  return needs;
}

std::unique_ptr<const Mixer> ChannelMixOptions::make(const Parameters& parameters) const {
  return std::make_unique<ChannelMix>(parameters, *this);
}

}  // namespace pippin::nn
