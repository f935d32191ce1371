#include "pippin/nn/layers/mlp.h"

#include <numeric>

#include "pippin/array/ops.h"

namespace pippin::nn {
namespace {

Linear into_hidden(const Parameters& parameters, const MLPOptions& options, bool gate) {
  WeightLayout layout;
  layout.transposed = options.transposed;
  layout.groups = options.up_groups;
  layout.stacked_groups = options.stacked_groups;
  std::string name = gate ? options.gate : options.up;
  if (options.gated && options.fused) {
    name = options.gate;
    layout.stored_rows = 2 * options.hidden_features;
    parameters.at(name).check("weight", {layout.stored_rows, options.features});
    layout.rows.resize(static_cast<size_t>(options.hidden_features));
    const bool first = gate != options.up_first;
    std::iota(layout.rows.begin(), layout.rows.end(), first ? 0 : options.hidden_features);
    layout.part = gate ? "gate" : "up";
  }
  Linear linear(parameters.at(name), options.features, options.hidden_features, options.bias,
                layout);
  if (!options.adapter.empty()) {
    const Parameters adapter = parameters.at(options.adapter);
    linear.add(
        adapter.at(0).get("weight", {options.adapter_rank, options.features}),
        adapter.at(1).get("weight", {options.hidden_features, options.adapter_rank}, layout));
  }
  return linear;
}

// The part of x above mean + cutoff * deviation of its features.
array::Array strongest(const array::Array& x, double cutoff) {
  if (cutoff == 0) return x;
  const array::Array mean = array::reduce_mean(x, {-1}, /*keep_dims=*/true);
  const array::Array distance = x - mean;
  const array::Array variance = array::reduce_mean(distance * distance, {-1}, true);
  return array::relu(distance - array::sqrt(variance) * cutoff);
}

}  // namespace

array::Array apply(Activation activation, const array::Array& x) {
  switch (activation) {
    case Activation::Gelu:
      return array::gelu(x);
    case Activation::GeluTanh:
      return array::gelu(x, "TANH_APPROXIMATION");
    case Activation::QuickGelu:
      return array::gelu(x, "SIGMOID_APPROXIMATION");
    case Activation::Relu:
      return array::relu(x);
    case Activation::Relu2:
      return array::square(array::relu(x));
    case Activation::Tanh:
      return array::tanh(x);
    case Activation::Sigmoid:
      return array::sigmoid(x);
    case Activation::Softplus:
      return array::softplus(x);
    case Activation::Identity:
    case Activation::XIELU:
      return x;
    case Activation::Silu:
      break;
  }
  return array::silu(x);
}

MLP::MLP(const Parameters& parameters, const MLPOptions& options)
    : path_(parameters.path()),
      activation_(options.activation),
      cutoff_(options.cutoff),
      convolutions_(parameters.style().convolutions),
      gate_scale_(options.gate_scale),
      down_scale_(options.down_scale),
      up_shift_(options.up_shift),
      limit_(options.limit),
      activates_first_(options.activates_first),
      up_(into_hidden(parameters, options, /*gate=*/false)),
      down_(parameters.at(options.down), options.hidden_features, options.features,
            options.down_bias.value_or(options.bias),
            {.transposed = options.transposed,
             .groups = options.down_groups,
             .stacked_groups = options.stacked_groups}) {
  if (options.activation == Activation::XIELU)
    xielu_.emplace(parameters.at(options.activation_path), options.xielu);
  if (!options.result_scale.empty()) result_scale_ = parameters.get(options.result_scale, {1});
  if (options.gated) gate_ = into_hidden(parameters, options, /*gate=*/true);
  if (const NamedNorm& inner = options.inner_norm; !inner.name.empty()) {
    inner_norm_.emplace(parameters.at(inner.name), options.hidden_features, inner.norm);
  }
}

array::Array MLP::operator()(const array::Array& x, LayerCarry& /*carry*/) const {
  const array::Scope scope(path_);
  // Consecutive convolutions, without conversion to rows between them.
  if (convolutions_ && x.rank() == 3) return to_rows(feed(to_channels(x)));
  return feed(x);
}

array::Array MLP::activated(const array::Array& x) const {
  return xielu_ ? (*xielu_)(x) : apply(activation_, x);
}

array::Array MLP::gated(const array::Array& x) const {
  const array::Array all = strongest((*gate_)(x), cutoff_);
  const array::Array scaled = gate_scale_ == 1.0 ? all : all * gate_scale_;
  array::Array open =
      activated(limit_ && !activates_first_ ? array::minimum(scaled, *limit_) : scaled);
  if (limit_ && activates_first_) open = array::minimum(open, *limit_);
  array::Array up = up_(x);
  if (limit_) up = array::clip(up, -*limit_, *limit_);
  if (up_shift_ != 0) up = up + up_shift_;
  return open * up;
}

array::Array MLP::feed(const array::Array& x) const {
  const array::Array hidden = gate_ ? gated(x) : activated(up_(x));
  const array::Array made = down_(inner_norm_ ? inner_norm_->between(hidden) : hidden);
  const array::Array result = down_scale_ == 1.0 ? made : made * down_scale_;
  return result_scale_ ? result * *result_scale_ : result;
}

std::unique_ptr<const FeedForward> MLPOptions::make(const Parameters& parameters) const {
  return std::make_unique<MLP>(parameters, *this);
}

}  // namespace pippin::nn
