#include "pippin/nn/recurrent/mamba2.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "pippin/array/ops.h"
#include "pippin/nn/layers/causal_convolution.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/recurrent/recurrence.h"

namespace pippin::nn {
namespace {

using array::Array;

// x, keys and queries.
int64_t convolved(const Mamba2Options& options) {
  return options.inner() + 2 * options.groups * options.state_size;
}

CarriedState recurrent_state(const Mamba2Options& options) {
  return {kRecurrentState,
          {options.groups, options.heads / options.groups, options.head_dim, options.state_size}};
}

class Mamba2 final : public Mixer {
 public:
  Mamba2(const Parameters& parameters, const Mamba2Options& options)
      : path_(parameters.path()),
        options_(options),
        input_(parameters.at("in_proj"), options.features,
               options.inner() + convolved(options) + options.heads, options.bias),
        convolution_(parameters.at("conv1d"), convolved(options), options.kernel,
                     options.convolution_bias),
        step_bias_(parameters.get("dt_bias", {options.heads})),
        rates_(decay_rates(parameters, {options.heads})),
        skip_(parameters.get("D", {options.heads})),
        output_(parameters.at("out_proj"), options.inner(), options.features, options.output_bias) {
    make_zone_scales(parameters.type());
    if (options.gating == Mamba2Options::Gating::GateAlone) return;
    if (!options.norm_groups || options.groups == 1) {
      norm_.emplace(parameters.at("norm"), options.inner(), options.norm);
      return;
    }
    NormOptions plain = options.norm;
    plain.weight = false;
    norm_.emplace(parameters.at("norm"), options.inner() / options.groups, plain);
    group_weight_ = parameters.at("norm").get("weight", {options.inner()});
  }

  Array operator()(const Array& tokens, const MixerInput& input) const override {
    const array::Scope scope(path_);
    Array projected = input_(options_.input_scale == 1.0 ? tokens : tokens * options_.input_scale);
    if (zone_scales_) projected = projected * *zone_scales_;
    const int64_t inner = options_.inner(), middle = inner + convolved(options_);
    const Array gate = array::slice_axis(projected, 2, 0, inner);
    const Array mixed =
        array::silu(convolution_(array::slice_axis(projected, 2, inner, middle), input));
    const Array raw = array::slice_axis(projected, 2, middle, middle + options_.heads);
    return output_(gated(scan(mixed, raw, input), gate));
  }

 private:
  void make_zone_scales(mil::DataType type) {
    const auto& scales = options_.zone_scales;
    if (std::all_of(scales.begin(), scales.end(), [](double s) { return s == 1.0; })) return;
    const int64_t keys = options_.groups * options_.state_size;
    const std::array<int64_t, 5> widths = {options_.inner(), options_.inner(), keys, keys,
                                           options_.heads};
    std::vector<double> values;
    for (size_t i = 0; i < widths.size(); ++i) {
      values.insert(values.end(), static_cast<size_t>(widths[i]), scales[i]);
    }
    zone_scales_ = array::constant(type, {static_cast<int64_t>(values.size())}, values,
                                   path_ + ".zone_scales");
  }

  // (1, q, heads), in fp32.
  Array steps(const Array& raw) const {
    const Array biased = array::cast(raw, kDecayType) + array::cast(step_bias_, kDecayType);
    const Array steps = array::softplus(biased);
    const bool least = options_.least_step > 0;
    const bool largest = options_.largest_step < std::numeric_limits<double>::infinity();
    if (least && largest) return array::clip(steps, options_.least_step, options_.largest_step);
    if (least) return array::maximum(steps, options_.least_step);
    return largest ? array::minimum(steps, options_.largest_step) : steps;
  }

  // (1, q, inner) from concatenated x, keys and queries.
  Array scan(const Array& mixed, const Array& raw, const MixerInput& input) const {
    const mil::Dim& query = mixed.dim(1);
    const int64_t groups = options_.groups, heads = options_.heads / groups;
    const int64_t inner = options_.inner(), width = groups * options_.state_size;
    const Array x = array::reshape(array::slice_axis(mixed, 2, 0, inner),
                                   {query, groups, heads, options_.head_dim});
    const auto shared = [&](int64_t begin) {
      const Array part = array::slice_axis(mixed, 2, begin, begin + width);
      return array::transpose(array::reshape(part, {query, groups, options_.state_size}),
                              {1, 0, 2});
    };
    const Array keys = shared(inner);
    const Array queries = shared(inner + width);
    const Array wide = steps(raw);
    const Array decay =
        array::transpose(array::reshape(wide * rates_, {query, groups, heads}), {1, 2, 0});
    const Array step = array::reshape(array::cast(wide, x.type()), {query, groups, heads, 1});
    const Array added = array::transpose(x * step, {1, 2, 0, 3});
    const CarriedState state = recurrent_state(options_);
    const Recurred recurred =
        decayed_products({decay, added, keys, queries}, input.cache.carried(input.layer, state),
                         input.order->no_later);
    input.cache.carry(input.layer, state, recurred.state);
    const Array results = array::transpose(recurred.results, {2, 0, 1, 3});
    const Array skipped = x * array::reshape(skip_, {groups, heads, 1});
    return array::reshape(results + skipped, {1, query, inner});
  }

  Array gated(const Array& y, const Array& gate) const {
    using Gating = Mamba2Options::Gating;
    const Array open = array::silu(gate);
    if (options_.gating == Gating::GateAlone) return y * open;
    if (options_.gating == Gating::NormThenGate) return normed(y) * open;
    return normed(y * open);
  }

  Array normed(const Array& y) const {
    if (!group_weight_) return (*norm_)(y);
    const mil::Dim& query = y.dim(1);
    const int64_t width = options_.inner() / options_.groups;
    const Array normal = (*norm_)(array::reshape(y, {1, query, options_.groups, width}));
    return array::reshape(normal, {1, query, options_.inner()}) * *group_weight_;
  }

  std::string path_;
  Mamba2Options options_;
  Linear input_;
  CausalConvolution convolution_;
  Array step_bias_, rates_, skip_;
  Linear output_;
  std::optional<Array> zone_scales_, group_weight_;
  std::optional<Norm> norm_;
};

}  // namespace

MixerNeeds Mamba2Options::needs() const {
  return {.name = "a state space",
          .states = {convolution_state(convolved(*this), kernel), recurrent_state(*this)},
          .order = true};
}

std::unique_ptr<const Mixer> Mamba2Options::make(const Parameters& parameters) const {
  return std::make_unique<Mamba2>(parameters, *this);
}

}  // namespace pippin::nn
