#include "pippin/nn/recurrent/mamba.h"

#include "pippin/array/ops.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/recurrent/causal_convolution.h"
#include "pippin/nn/recurrent/recurrence.h"

namespace pippin::nn {
namespace {

using array::Array;

CarriedState recurrent_state(const MambaOptions& options) {
  return {kRecurrentState, {1, 1, options.inner, options.state_size}};
}

class Mamba final : public Mixer {
 public:
  Mamba(const Parameters& parameters, const MambaOptions& options)
      : path_(parameters.path()),
        options_(options),
        input_(parameters.at("in_proj"), options.features, 2 * options.inner, options.bias),
        convolution_(parameters.at("conv1d"), options.inner, options.kernel,
                     options.convolution_bias),
        selection_(parameters.at("x_proj"), options.inner,
                   options.step_rank + 2 * options.state_size),
        widening_(parameters.at("dt_proj"), options.step_rank, options.inner, /*bias=*/true),
        rates_(decay_rates(parameters, {options.inner, options.state_size})),
        skip_(parameters.get("D", {options.inner})),
        output_(parameters.at("out_proj"), options.inner, options.features, options.bias) {
    if (!options.norm) return;
    step_norm_.emplace(parameters.at(options.step_norm), options.step_rank, *options.norm);
    key_norm_.emplace(parameters.at(options.key_norm), options.state_size, *options.norm);
    query_norm_.emplace(parameters.at(options.query_norm), options.state_size, *options.norm);
  }

  Array operator()(const Array& tokens, const MixerInput& input) const override {
    const array::Scope scope(path_);
    const Array both = input_(tokens);
    const int64_t inner = options_.inner;
    const Array gate = array::slice_axis(both, 2, inner, 2 * inner);
    const Array x = array::silu(convolution_(array::slice_axis(both, 2, 0, inner), input));
    const Array mixed = scan(x, input);
    return output_(mixed * array::silu(gate));
  }

 private:
  // (1, q, inner) from the same shape.
  Array scan(const Array& x, const MixerInput& input) const {
    const Array selected = selection_(x);
    const int64_t rank = options_.step_rank, size = options_.state_size;
    const auto part = [&](int64_t begin, int64_t end, const std::optional<Norm>& norm) {
      const Array values = array::slice_axis(selected, 2, begin, end);
      return norm ? (*norm)(values) : values;
    };
    const Array narrow = part(0, rank, step_norm_);
    const Array keys = part(rank, rank + size, key_norm_);
    const Array queries = part(rank + size, rank + 2 * size, query_norm_);
    const Array steps = array::softplus(widening_(narrow));
    const Array wide = array::expand_dims(array::cast(steps, kDecayType), {3});
    const Array decay = array::cast(array::exp(wide * rates_), x.type());
    const Array added = array::expand_dims(steps * x, {3}) * array::expand_dims(keys, {2});
    const CarriedState state = recurrent_state(options_);
    const Recurred recurred =
        linear_recurrence(decay, added, input.cache.carried(input.layer, state));
    const Array results =
        array::reduce_sum(recurred.results * array::expand_dims(queries, {2}), {3});
    input.cache.carry(input.layer, state, recurred.state);
    return results + x * skip_;
  }

  std::string path_;
  MambaOptions options_;
  Linear input_;
  CausalConvolution convolution_;
  Linear selection_, widening_;
  Array rates_, skip_;
  std::optional<Norm> step_norm_, key_norm_, query_norm_;
  Linear output_;
};

}  // namespace

MixerNeeds MambaOptions::needs() const {
  return {.name = "a state space",
          .states = {convolution_state(inner, kernel), recurrent_state(*this)}};
}

std::unique_ptr<const Mixer> MambaOptions::make(const Parameters& parameters) const {
  return std::make_unique<Mamba>(parameters, *this);
}

}  // namespace pippin::nn
