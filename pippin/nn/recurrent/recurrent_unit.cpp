#include "pippin/nn/recurrent/recurrent_unit.h"

#include <cmath>

#include "pippin/array/builder.h"
#include "pippin/array/ops.h"
#include "pippin/nn/layers/causal_convolution.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/recurrent/recurrence.h"

namespace pippin::nn {
namespace {

using array::Array;

CarriedState recurrent_state(const RecurrentUnitOptions& options) {
  return {kRecurrentState, {1, 1, options.inner}};
}

// -8 * softplus(x): Griffin's c times the logarithm of sigmoid(-x).
double griffin_rate(double x) {
  return -8 * (x > 30 ? x : std::log1p(std::exp(x)));
}

class RecurrentUnit final : public Mixer {
 public:
  RecurrentUnit(const Parameters& parameters, const RecurrentUnitOptions& options)
      : path_(parameters.path()),
        options_(options),
        gate_(parameters.at("linear_y"), options.features, options.inner, /*bias=*/true),
        input_(parameters.at("linear_x"), options.features, options.inner, /*bias=*/true),
        convolution_(parameters.at("conv_1d"), options.inner, options.kernel, /*bias=*/true),
        input_gate_(make_gate(parameters.at("rg_lru"), "input_gate")),
        decay_gate_(make_gate(parameters.at("rg_lru"), "recurrent_gate")),
        rates_(
            decay_rates(parameters.at("rg_lru"), "recurrent_param", {options.inner}, griffin_rate)),
        output_(parameters.at("linear_out"), options.inner, options.features, /*bias=*/true) {}

  Array operator()(const Array& tokens, const MixerInput& input) const override {
    const array::Scope scope(path_);
    const Array gate = apply(options_.activation, gate_(tokens));
    const Array x = convolution_(input_(tokens), input);
    const Array log_decay = array::cast(gate_of(decay_gate_, x), kDecayType) * rates_;
    const Array decay = array::exp(log_decay);
    const Array rest = decay * decay * -1.0 + 1.0;
    const Array size = array::select(is_first(input), array::constant(kDecayType, 1.0),
                                     array::sqrt(array::maximum(rest, 0.0)));
    const Array added = gate_of(input_gate_, x) * x * array::cast(size, x.type());
    const CarriedState state = recurrent_state(options_);
    const Recurred recurred = linear_recurrence(array::cast(decay, x.type()), added,
                                                input.cache.carried(input.layer, state));
    input.cache.carry(input.layer, state, recurred.state);
    return output_(recurred.results * gate);
  }

 private:
  // A matrix and a bias for each head.
  struct Gate {
    Array weight, bias;
  };
  Gate make_gate(const Parameters& parameters, const std::string& name) const {
    const int64_t size = options_.inner / options_.heads;
    return {parameters.get(name + "_weight", {options_.heads, size, size}),
            parameters.get(name + "_bias", {options_.heads, size})};
  }

  // sigmoid(x · weight + bias), head by head.
  Array gate_of(const Gate& gate, const Array& x) const {
    const mil::Dim& query = x.dim(1);
    const int64_t heads = options_.heads, size = options_.inner / heads;
    const Array by_head = array::transpose(array::reshape(x, {query, heads, size}), {1, 0, 2});
    const Array product = array::transpose(array::matmul(by_head, gate.weight), {1, 0, 2});
    return array::sigmoid(array::reshape(product + gate.bias, {1, query, options_.inner}));
  }

  // Bools (1, q, 1): the sequence begins here.
  static Array is_first(const MixerInput& input) {
    array::Builder& builder = array::Builder::current();
    const Array past = builder.dim_array(input.pass.past), end = builder.dim_array(input.pass.end);
    const Array positions = array::range(past, end);
    return array::expand_dims(array::less(positions, array::constant(1)), {0, 2});
  }

  std::string path_;
  RecurrentUnitOptions options_;
  Linear gate_, input_;
  CausalConvolution convolution_;
  Gate input_gate_, decay_gate_;
  Array rates_;
  Linear output_;
};

}  // namespace

MixerNeeds RecurrentUnitOptions::needs() const {
  return {.name = "a recurrent unit",
          .states = {convolution_state(inner, kernel), recurrent_state(*this)}};
}

std::unique_ptr<const Mixer> RecurrentUnitOptions::make(const Parameters& parameters) const {
  return std::make_unique<RecurrentUnit>(parameters, *this);
}

}  // namespace pippin::nn
