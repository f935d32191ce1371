#include "pippin/nn/recurrent/mamba.h"

#include <string_view>

#include "pippin/array/ops.h"
#include "pippin/nn/layers/causal_convolution.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/recurrent/recurrence.h"

namespace pippin::nn {
namespace {

using array::Array;

CarriedState recurrent_state(const MambaOptions& options) {
  return {kRecurrentState, {1, 1, options.inner, options.state_size}};
}

WeightLayout input_rows(const Parameters& input, const MambaOptions& options) {
  WeightLayout layout;
  if (options.heads == 0) return layout;
  input.check("weight", {2 * options.inner, options.features});
  for (int64_t i = 0; i < options.inner; ++i) layout.rows.push_back(2 * i);
  for (int64_t i = 0; i < options.inner; ++i) layout.rows.push_back(2 * i + 1);
  return layout;
}

// A tensor with a row of numbers for each feature, whether or not features are stored by head.
Array by_feature(const Parameters& parameters, std::string_view name, const MambaOptions& options) {
  if (options.heads == 0) return parameters.get(name, {options.inner});
  const Array stored = parameters.get(name, {options.heads, options.inner / options.heads});
  return array::reshape(stored, {options.inner});
}

Array rates_of(const Parameters& parameters, const MambaOptions& options) {
  const int64_t inner = options.inner, size = options.state_size, heads = options.heads;
  if (heads == 0) return decay_rates(parameters, {inner, size});
  return array::reshape(decay_rates(parameters, {heads, inner / heads, size}), {inner, size});
}

// For each token: steps (1, q, inner), keys and queries (1, q, 1 or inner, size).
struct Selection {
  Array steps, keys, queries;
};

// The variant with heads, each with separate features.
class HeadSelection {
 public:
  HeadSelection(const Parameters& parameters, const MambaOptions& options)
      : options_(options),
        selection_(parameters.get("x_proj_weight", {options.heads, selected(), own()})),
        widening_(parameters.get("dt_proj_weight", {options.heads, own(), options.step_rank})),
        bias_(by_feature(parameters, "dt_proj_bias", options)) {}

  Selection operator()(const Array& x) const {
    const mil::Dim& q = x.dim(1);
    const int64_t heads = options_.heads, rank = options_.step_rank, size = options_.state_size;
    const Array by_head = array::transpose(array::reshape(x, {1, q, heads, own()}), {0, 2, 1, 3});
    const Array all = array::matmul(by_head, selection_, false, /*transpose_y=*/true);
    const Array narrow = array::slice_axis(all, 3, 0, rank);
    const Array wide = array::matmul(narrow, widening_, false, /*transpose_y=*/true);
    const Array joined =
        array::reshape(array::transpose(wide, {0, 2, 1, 3}), {1, q, options_.inner});
    const auto spread = [&](int64_t begin) {
      const Array part = array::slice_axis(all, 3, begin, begin + size);
      const Array once = array::expand_dims(array::transpose(part, {0, 2, 1, 3}), {3});
      return array::reshape(array::tile(once, {1, 1, 1, own(), 1}), {1, q, options_.inner, size});
    };
    return {array::softplus(joined + bias_), spread(rank), spread(rank + size)};
  }

 private:
  int64_t own() const { return options_.inner / options_.heads; }
  int64_t selected() const { return options_.step_rank + 2 * options_.state_size; }

  MambaOptions options_;
  Array selection_, widening_, bias_;
};

class Mamba final : public Mixer {
 public:
  Mamba(const Parameters& parameters, const MambaOptions& options)
      : path_(parameters.path()),
        options_(options),
        input_(parameters.at("in_proj"), options.features, 2 * options.inner, options.bias,
               input_rows(parameters.at("in_proj"), options)),
        convolution_(parameters.at("conv1d"), options.inner, options.kernel,
                     options.convolution_bias),
        rates_(rates_of(parameters, options)),
        skip_(by_feature(parameters, "D", options)),
        output_(parameters.at("out_proj"), options.inner, options.features, options.bias) {
    if (options.heads > 0) {
      by_head_.emplace(parameters, options);
      return;
    }
    selection_.emplace(parameters.at("x_proj"), options.inner,
                       options.step_rank + 2 * options.state_size);
    widening_.emplace(parameters.at("dt_proj"), options.step_rank, options.inner, /*bias=*/true);
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
  Selection select(const Array& x) const {
    if (by_head_) return (*by_head_)(x);
    const Array selected = (*selection_)(x);
    const int64_t rank = options_.step_rank, size = options_.state_size;
    const auto part = [&](int64_t begin, int64_t end, const std::optional<Norm>& norm) {
      const Array values = array::slice_axis(selected, 2, begin, end);
      return norm ? (*norm)(values) : values;
    };
    const Array narrow = part(0, rank, step_norm_);
    const Array keys = part(rank, rank + size, key_norm_);
    const Array queries = part(rank + size, rank + 2 * size, query_norm_);
    return {array::softplus((*widening_)(narrow)), array::expand_dims(keys, {2}),
            array::expand_dims(queries, {2})};
  }

  // (1, q, inner) of the same.
  Array scan(const Array& x, const MixerInput& input) const {
    const auto [steps, keys, queries] = select(x);
    const Array wide = array::expand_dims(array::cast(steps, kDecayType), {3});
    const Array decay = array::cast(array::exp(wide * rates_), x.type());
    const Array added = array::expand_dims(steps * x, {3}) * keys;
    const CarriedState state = recurrent_state(options_);
    const Recurred recurred =
        linear_recurrence(decay, added, input.cache.carried(input.layer, state));
    const Array results = array::reduce_sum(recurred.results * queries, {3});
    input.cache.carry(input.layer, state, recurred.state);
    return results + x * skip_;
  }

  std::string path_;
  MambaOptions options_;
  Linear input_;
  CausalConvolution convolution_;
  std::optional<Linear> selection_, widening_;
  std::optional<HeadSelection> by_head_;
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
