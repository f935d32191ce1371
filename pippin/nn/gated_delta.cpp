#include "pippin/nn/gated_delta.h"

#include <cmath>
#include <vector>

#include "pippin/array/ops.h"
#include "pippin/nn/causal_convolution.h"
#include "pippin/nn/linear.h"
#include "pippin/nn/recurrence.h"

namespace pippin::nn {
namespace {

using array::Array;

int64_t key_width(const GatedDeltaOptions& options) {
  return options.key_heads * options.key_dim;
}
int64_t value_width(const GatedDeltaOptions& options) {
  return options.value_heads * options.value_dim;
}
// Queries, keys and values.
int64_t convolved(const GatedDeltaOptions& options) {
  return 2 * key_width(options) + value_width(options);
}

CarriedState recurrent_state(const GatedDeltaOptions& options) {
  return {kRecurrentState,
          {options.key_heads, options.value_heads / options.key_heads, options.value_dim,
           options.key_dim}};
}

// Rows [begin, end) of each of `heads` blocks of `block` rows.
void add_rows(WeightLayout& layout, int64_t heads, int64_t block, int64_t begin, int64_t end) {
  layout.stored_rows = heads * block;
  for (int64_t head = 0; head < heads; ++head) {
    for (int64_t row = begin; row < end; ++row) layout.rows.push_back(head * block + row);
  }
}

class GatedDelta final : public Mixer {
 public:
  GatedDelta(const Parameters& parameters, const GatedDeltaOptions& options)
      : path_(parameters.path()),
        options_(options),
        mixed_(parameters.at("in_proj_qkvz"), options.features, convolved(options), false,
               mixed_rows(options)),
        gate_(parameters.at("in_proj_qkvz"), options.features, value_width(options), false,
              gate_rows(options)),
        rates_(parameters.at("in_proj_ba"), options.features, options.value_heads, false,
               head_rows(options, false)),
        steps_(parameters.at("in_proj_ba"), options.features, options.value_heads, false,
               head_rows(options, true)),
        convolution_(parameters.at("conv1d"), convolved(options), options.kernel, false),
        step_bias_(parameters.get("dt_bias", {options.value_heads})),
        decays_(decay_rates(parameters, {options.value_heads})),
        norm_(parameters.at("norm"), options.value_dim, options.norm),
        output_(parameters.at("out_proj"), value_width(options), options.features) {}

  Array operator()(const Array& tokens, const MixerInput& input) const override {
    const array::Scope scope(path_);
    const Array mixed = array::silu(convolution_(mixed_(tokens), input));
    const Array gate = gate_(tokens);
    const Array rate = by_head(array::sigmoid(rates_(tokens)));
    const Array raw = array::cast(steps_(tokens), kDecayType);
    const Array steps = array::softplus(raw + array::cast(step_bias_, kDecayType));
    const mil::Dim& query = tokens.dim(1);
    const int64_t groups = options_.key_heads, heads = options_.value_heads / groups;
    const int64_t width = key_width(options_);
    const double scale = 1 / std::sqrt(static_cast<double>(options_.key_dim));
    const Array queries = unit(mixed, 0) * scale;
    const Array keys = unit(mixed, width);
    const Array values =
        array::transpose(array::reshape(array::slice_axis(mixed, 2, 2 * width, convolved(options_)),
                                        {query, groups, heads, options_.value_dim}),
                         {1, 2, 0, 3});
    const CarriedState state = recurrent_state(options_);
    const Recurred made = delta_products({by_head(steps * decays_), values, keys, queries}, rate,
                                         input.cache.carried(input.layer, state), *input.order);
    input.cache.carry(input.layer, state, made.state);
    const Array results = array::reshape(array::transpose(made.results, {2, 0, 1, 3}),
                                         {1, query, options_.value_heads, options_.value_dim});
    const Array normal = array::reshape(norm_(results), {1, query, value_width(options_)});
    return output_(normal * array::silu(gate));
  }

 private:
  int64_t key_group() const { return options_.value_heads / options_.key_heads; }

  // A head's block: query, key, values, gates.
  static int64_t block(const GatedDeltaOptions& options) {
    return 2 * options.key_dim + 2 * value_width(options) / options.key_heads;
  }
  static WeightLayout mixed_rows(const GatedDeltaOptions& options) {
    WeightLayout layout;
    layout.part = "qkv";
    const int64_t size = options.key_dim, heads = options.key_heads;
    add_rows(layout, heads, block(options), 0, size);
    add_rows(layout, heads, block(options), size, 2 * size);
    add_rows(layout, heads, block(options), 2 * size, 2 * size + value_width(options) / heads);
    return layout;
  }
  static WeightLayout gate_rows(const GatedDeltaOptions& options) {
    WeightLayout layout;
    layout.part = "z";
    const int64_t first = 2 * options.key_dim + value_width(options) / options.key_heads;
    add_rows(layout, options.key_heads, block(options), first, block(options));
    return layout;
  }
  static WeightLayout head_rows(const GatedDeltaOptions& options, bool steps) {
    WeightLayout layout;
    layout.part = steps ? "a" : "b";
    const int64_t group = options.value_heads / options.key_heads;
    add_rows(layout, options.key_heads, 2 * group, steps ? group : 0, steps ? 2 * group : group);
    return layout;
  }

  // (1, q, value heads) as (key heads, heads of each, q).
  Array by_head(const Array& x) const {
    const Array heads = array::reshape(x, {x.dim(1), options_.key_heads, key_group()});
    return array::transpose(heads, {1, 2, 0});
  }

  // Queries or keys, (key heads, q, key_dim), each of length 1.
  Array unit(const Array& mixed, int64_t begin) const {
    const Array part = array::slice_axis(mixed, 2, begin, begin + key_width(options_));
    const Array heads = array::reshape(part, {mixed.dim(1), options_.key_heads, options_.key_dim});
    const Array square = array::reduce_sum(array::square(heads), {-1}, /*keep_dims=*/true);
    return array::transpose(heads * array::rsqrt(square + 1e-6), {1, 0, 2});
  }

  std::string path_;
  GatedDeltaOptions options_;
  Linear mixed_, gate_, rates_, steps_;
  CausalConvolution convolution_;
  Array step_bias_, decays_;
  Norm norm_;
  Linear output_;
};

}  // namespace

MixerNeeds GatedDeltaOptions::needs() const {
  return {.name = "a gated delta rule",
          .states = {convolution_state(convolved(*this), kernel), recurrent_state(*this)},
          .order = true};
}

std::unique_ptr<const Mixer> GatedDeltaOptions::make(const Parameters& parameters) const {
  return std::make_unique<GatedDelta>(parameters, *this);
}

}  // namespace pippin::nn
