#include "pippin/nn/experts/experts.h"

#include <optional>
#include <utility>
#include <vector>

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/nn/layers/linear.h"

namespace pippin::nn {
namespace {

using array::Array;

// Experts with their weights, (experts, tokens or 1, 1).
struct Weighted {
  ExpertWeights experts;
  Array weights;
};

class Experts final : public FeedForward {
 public:
  Experts(const Parameters& parameters, const ExpertsOptions& options)
      : path_(parameters.path()),
        experts_path_(parameters.at(options.path).path()),
        options_(options),
        router_(parameters, options.router),
        experts_(expert_weights(parameters.at(options.path), options.weights)) {
    if (parameters.style().convolutions) {
      fail(ErrorCode::Unsupported, "'{}': experts have no form for this package family", path_);
    }
    if (const NamedNorm& norm = options.input_norm; !norm.name.empty()) {
      input_norm_.emplace(parameters.at(norm.name), options.weights.features, norm.norm);
    }
    if (!options.into_latent.empty()) {
      const int64_t features = options.router.features, latent = options.weights.features;
      into_latent_.emplace(parameters.at(options.into_latent), features, latent,
                           options.latent_bias);
      out_of_latent_.emplace(parameters.at(options.out_of_latent), latent, features,
                             options.latent_bias);
    }
    if (!options.result_bias.empty()) {
      bias_ = parameters.get(options.result_bias, {options.router.features});
    }
    if (options.always)
      always_ = expert_weights(parameters.at(options.always_path), *options.always);
    if (!options.shared) return;
    shared_ = options.shared->make(parameters.at(options.shared_path));
    if (!options.shared_gate.empty()) {
      shared_gate_.emplace(parameters.at(options.shared_gate), options.weights.features, 1);
    }
  }

  Array operator()(const Array& x, LayerCarry& carry) const override {
    const array::Scope scope(path_);
    // Several texts of an encoder are one row of tokens here.
    if (x.dim(0) != mil::Dim(1)) {
      const mil::Dim tokens = x.dim(0) * x.dim(1);
      return array::reshape(of_tokens(array::reshape(x, {1, tokens, x.dim(2)}), carry), x.shape());
    }
    return of_tokens(x, carry);
  }

 private:
  Array of_tokens(const Array& x, LayerCarry& carry) const {
    const Route route = router_(x, carry);
    const Array result = joined(input_norm_ ? (*input_norm_)(x) : x, route, carry);
    const Array scaled = options_.result_scale == 1.0 ? result : result * options_.result_scale;
    return bias_ ? scaled + *bias_ : scaled;
  }

  Array joined(const Array& x, const Route& route, LayerCarry& carry) const {
    Array sum =
        into_latent_ ? (*out_of_latent_)(routed((*into_latent_)(x), route)) : routed(x, route);
    if (options_.identity_experts > 0 && !options_.identities_are_zero) {
      sum = sum + x * identity_weight(route);
    }
    if (always_) sum = sum + made(x, {*always_, array::transpose(*route.always, {2, 1, 0})});
    if (!shared_) return sum;
    const Array shared = (*shared_)(x, carry);
    return sum + (shared_gate_ ? shared * array::sigmoid((*shared_gate_)(x)) : shared);
  }
  int64_t num_experts() const { return options_.weights.num_experts; }

  // 1 if a chosen expert has matrices, else 0: (1, q, top_k).
  Array is_real(const Route& route) const {
    const Array count = array::constant(static_cast<int32_t>(num_experts()));
    return array::cast(array::less(route.indices, count), route.weights.type());
  }
  Array identity_weight(const Route& route) const {
    const Array left = array::constant(route.weights.type(), 1.0) - is_real(route);
    return array::reduce_sum(route.weights * left, {-1}, /*keep_dims=*/true);
  }

  // (1, q, features).
  Array routed(const Array& x, const Route& route) const {
    const array::Scope scope(experts_path_);
    return made(x, x.dim(1) == mil::Dim(1) ? gathered(route) : all(route));
  }

  Array made(const Array& x, const Weighted& chosen) const {
    const ExpertWeights& experts = chosen.experts;
    const auto into_hidden = [&](const Array& matrix, const std::optional<Array>& bias) {
      Array y = array::matmul(x, matrix, false, /*transpose_y=*/true);
      if (options_.weights_scale_input) y = y * chosen.weights;
      return bias ? y + *bias : y;
    };
    Array y = array::matmul(hidden(experts, into_hidden), experts.down, false,
                            /*transpose_y=*/true);
    if (experts.down_bias) y = y + *experts.down_bias;
    if (!options_.weights_scale_input) y = y * chosen.weights;
    return array::named(array::reduce_sum(y, {0}, /*keep_dims=*/true), "");
  }

  template <typename Into>
  Array hidden(const ExpertWeights& experts, const Into& into_hidden) const {
    if (!experts.gate) {
      return apply(options_.activation, into_hidden(experts.up, experts.up_bias));
    }
    Array gate = into_hidden(*experts.gate, experts.gate_bias);
    const bool activates_first = options_.activates_first;
    if (activates_first) gate = apply(options_.activation, gate);
    if (options_.limit) gate = array::minimum(gate, *options_.limit);
    if (!activates_first) gate = apply(options_.activation, gate);
    Array up = into_hidden(experts.up, experts.up_bias);
    if (options_.limit) up = array::clip(up, -*options_.limit, *options_.limit);
    if (options_.up_shift != 0) up = up + options_.up_shift;
    return gate * up;
  }

  // All experts, with weight 0 for those that a token does not choose.
  Weighted all(const Route& route) const {
    const int64_t total = num_experts() + options_.identity_experts;
    const Array places = places_of(route.indices, total, route.weights.type());
    Array weights = array::reduce_sum(places * array::expand_dims(route.weights, {-1}), {2});
    if (options_.identity_experts > 0) weights = array::slice_axis(weights, 2, 0, num_experts());
    return {experts_, array::transpose(weights, {2, 1, 0})};
  }

  // The experts that the only token chooses.
  Weighted gathered(const Route& route) const {
    Array indices = array::reshape(route.indices, {options_.router.top_k});
    Array weights = route.weights;
    if (options_.identity_experts > 0) {
      indices = array::minimum(indices, array::constant(static_cast<int32_t>(num_experts() - 1)));
      weights = weights * is_real(route);
    }
    const auto take = [&](const Array& all) { return array::gather(all, indices); };
    ExpertWeights chosen = experts_;
    for (Array* matrix : {&chosen.up, &chosen.down}) *matrix = take(*matrix);
    for (auto* bias : {&chosen.gate, &chosen.gate_bias, &chosen.up_bias, &chosen.down_bias}) {
      if (*bias) *bias = take(**bias);
    }
    return {std::move(chosen), array::transpose(weights, {2, 1, 0})};
  }

  std::string path_, experts_path_;
  ExpertsOptions options_;
  Router router_;
  ExpertWeights experts_;
  std::optional<ExpertWeights> always_;
  std::optional<Array> bias_;
  std::optional<Norm> input_norm_;
  std::optional<Linear> into_latent_, out_of_latent_;
  std::unique_ptr<const FeedForward> shared_;
  std::optional<Linear> shared_gate_;
};

}  // namespace

std::unique_ptr<const FeedForward> ExpertsOptions::make(const Parameters& parameters) const {
  return std::make_unique<Experts>(parameters, *this);
}

}  // namespace pippin::nn
