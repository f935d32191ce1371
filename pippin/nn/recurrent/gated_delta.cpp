#include "pippin/nn/recurrent/gated_delta.h"

#include <cmath>
#include <string>
#include <vector>

#include "pippin/array/ops.h"
#include "pippin/nn/layers/causal_convolution.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/recurrent/recurrence.h"

namespace pippin::nn {
namespace {

using array::Array;

int64_t key_width(const GatedDeltaOptions& options) {
  return options.key_heads * options.key_dim;
}
int64_t value_width(const GatedDeltaOptions& options) {
  return options.value_heads * options.value_dim;
}
// Number of features of queries, keys and values.
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

using DeltaLayout = GatedDeltaOptions::Layout;

// A head's block of DeltaLayout::ByHead: query, key, values, gates.
int64_t block_of(const GatedDeltaOptions& options) {
  return 2 * options.key_dim + 2 * value_width(options) / options.key_heads;
}

WeightLayout mixed_rows(const GatedDeltaOptions& options) {
  WeightLayout layout;
  layout.part = "qkv";
  const int64_t size = options.key_dim, heads = options.key_heads, block = block_of(options);
  add_rows(layout, heads, block, 0, size);
  add_rows(layout, heads, block, size, 2 * size);
  add_rows(layout, heads, block, 2 * size, 2 * size + value_width(options) / heads);
  return layout;
}

WeightLayout gate_rows(const GatedDeltaOptions& options) {
  WeightLayout layout;
  layout.part = "z";
  const int64_t first = 2 * options.key_dim + value_width(options) / options.key_heads;
  add_rows(layout, options.key_heads, block_of(options), first, block_of(options));
  return layout;
}

WeightLayout head_rows(const GatedDeltaOptions& options, bool steps) {
  WeightLayout layout;
  layout.part = steps ? "a" : "b";
  const int64_t group = options.value_heads / options.key_heads;
  add_rows(layout, options.key_heads, 2 * group, steps ? group : 0, steps ? 2 * group : group);
  return layout;
}

// Of matrices that have value heads in their rows or columns.
WeightLayout plain_rows(const GatedDeltaOptions& options) {
  WeightLayout layout;
  if (options.reordered) layout.other_form = {/*is_known=*/false, 0, {}};
  return layout;
}

// The projections of queries, keys and values, in this order.
std::vector<Linear> mixed_projections(const Parameters& parameters,
                                      const GatedDeltaOptions& options) {
  const int64_t features = options.features;
  if (options.layout == DeltaLayout::ByHead) {
    return {Linear(parameters.at("in_proj_qkvz"), features, convolved(options), false,
                   mixed_rows(options))};
  }
  if (options.layout != DeltaLayout::Separate) {
    return {Linear(parameters.at("in_proj_qkv"), features, convolved(options), false,
                   plain_rows(options))};
  }
  return {Linear(parameters.at("q_proj"), features, key_width(options)),
          Linear(parameters.at("k_proj"), features, key_width(options)),
          Linear(parameters.at("v_proj"), features, value_width(options))};
}

Linear gate_projection(const Parameters& parameters, const GatedDeltaOptions& options) {
  const int64_t features = options.features, width = value_width(options);
  if (options.layout == DeltaLayout::ByHead) {
    return Linear(parameters.at("in_proj_qkvz"), features, width, false, gate_rows(options));
  }
  const bool separate = options.layout == DeltaLayout::Separate;
  return Linear(parameters.at(separate ? "g_proj" : "in_proj_z"), features, width, false,
                plain_rows(options));
}

// Rates, or the steps of decays.
Linear head_projection(const Parameters& parameters, const GatedDeltaOptions& options, bool steps) {
  const int64_t features = options.features, heads = options.value_heads;
  if (options.layout == DeltaLayout::ByHead || options.layout == DeltaLayout::Halfway) {
    return Linear(parameters.at("in_proj_ba"), features, heads, false, head_rows(options, steps));
  }
  const std::string letter = steps ? "a" : "b";
  const bool joined = options.layout == DeltaLayout::Joined;
  return Linear(parameters.at(joined ? "in_proj_" + letter : letter + "_proj"), features, heads,
                false, plain_rows(options));
}

std::vector<std::string> convolutions(const GatedDeltaOptions& options) {
  if (options.layout != DeltaLayout::Separate) return {"conv1d"};
  return {"q_conv1d", "k_conv1d", "v_conv1d"};
}

class GatedDelta final : public Mixer {
 public:
  GatedDelta(const Parameters& parameters, const GatedDeltaOptions& options)
      : path_(parameters.path()),
        options_(options),
        mixed_(mixed_projections(parameters, options)),
        gate_(gate_projection(parameters, options)),
        rates_(head_projection(parameters, options, false)),
        steps_(head_projection(parameters, options, true)),
        convolution_(parameters, convolutions(options), convolved(options), options.kernel),
        step_bias_(parameters.get("dt_bias", {options.value_heads})),
        decays_(decay_rates(parameters, {options.value_heads})),
        norm_(parameters.at(options.norm_name), options.value_dim, options.norm),
        output_(parameters.at(options.output), value_width(options), options.features, false,
                plain_rows(options)) {}

  Array operator()(const Array& tokens, const MixerInput& input) const override {
    const array::Scope scope(path_);
    std::vector<Array> parts;
    for (const Linear& projection : mixed_) parts.push_back(projection(tokens));
    const Array joined = parts.size() == 1 ? parts.front() : array::concat(parts, 2);
    const Array mixed = array::silu(convolution_(joined, input));
    const Array gate = gate_(tokens);
    const Array open = array::sigmoid(rates_(tokens));
    const Array rate = by_head(options_.rate_scale == 1.0 ? open : open * options_.rate_scale);
    const Array raw = array::cast(steps_(tokens), kDecayType);
    const Array steps = array::softplus(raw + array::cast(step_bias_, kDecayType));
    const mil::Dim& query = tokens.dim(1);
    const int64_t groups = options_.key_heads, heads = options_.value_heads / groups;
    const int64_t width = key_width(options_);
    const double scale = 1 / std::sqrt(static_cast<double>(options_.key_dim));
    const Array queries = unit(mixed, 0) * scale;
    const Array keys = unit(mixed, width);
    const Array flat = array::slice_axis(mixed, 2, 2 * width, convolved(options_));
    const Array values =
        options_.tiled
            ? array::transpose(array::reshape(flat, {query, heads, groups, options_.value_dim}),
                               {2, 1, 0, 3})
            : array::transpose(array::reshape(flat, {query, groups, heads, options_.value_dim}),
                               {1, 2, 0, 3});
    const CarriedState state = recurrent_state(options_);
    const Recurred made = delta_products({by_head(steps * decays_), values, keys, queries}, rate,
                                         input.cache.carried(input.layer, state), *input.order);
    input.cache.carry(input.layer, state, made.state);
    const std::vector<int64_t> order =
        options_.tiled ? std::vector<int64_t>{2, 1, 0, 3} : std::vector<int64_t>{2, 0, 1, 3};
    const Array results = array::reshape(array::transpose(made.results, order),
                                         {1, query, options_.value_heads, options_.value_dim});
    const Array normal = array::reshape(norm_(results), {1, query, value_width(options_)});
    return output_(normal * array::silu(gate));
  }

 private:
  int64_t key_group() const { return options_.value_heads / options_.key_heads; }

  // (1, q, value heads) as (key heads, heads of each, q).
  Array by_head(const Array& x) const {
    if (options_.tiled) {
      return array::transpose(array::reshape(x, {x.dim(1), key_group(), options_.key_heads}),
                              {2, 1, 0});
    }
    const Array heads = array::reshape(x, {x.dim(1), options_.key_heads, key_group()});
    return array::transpose(heads, {1, 2, 0});
  }

  // Queries or keys, (key heads, q, key_dim), each normalized to length 1.
  Array unit(const Array& mixed, int64_t begin) const {
    const Array part = array::slice_axis(mixed, 2, begin, begin + key_width(options_));
    const Array heads = array::reshape(part, {mixed.dim(1), options_.key_heads, options_.key_dim});
    const Array square = array::reduce_sum(array::square(heads), {-1}, /*keep_dims=*/true);
    return array::transpose(heads * array::rsqrt(square + 1e-6), {1, 0, 2});
  }

  std::string path_;
  GatedDeltaOptions options_;
  std::vector<Linear> mixed_;
  Linear gate_, rates_, steps_;
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
