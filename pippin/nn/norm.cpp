#include "pippin/nn/norm.h"

#include "pippin/array/ops.h"

namespace pippin::nn {

RMSNorm::RMSNorm(const Parameters& parameters, int64_t features, double epsilon)
    : path_(parameters.path()), weight_(parameters.get("weight", {features})), epsilon_(epsilon) {}

array::Array RMSNorm::operator()(const array::Array& x) const {
  const array::Scope scope(path_);
  const auto mean = array::reduce_mean(array::pow(x, 2.0), {-1}, /*keep_dims=*/true);
  const auto normalized = x * array::rsqrt(mean + epsilon_);
  return array::named(weight_ * normalized, "");
}

LayerNorm::LayerNorm(const Parameters& parameters, int64_t features, double epsilon, bool weight,
                     bool bias)
    : path_(parameters.path()), epsilon_(epsilon) {
  if (weight) weight_ = parameters.get("weight", {features});
  if (bias) bias_ = parameters.get("bias", {features});
}

array::Array LayerNorm::operator()(const array::Array& x) const {
  const array::Scope scope(path_);
  return array::named(array::layer_norm(x, {-1}, weight_, bias_, epsilon_), "");
}

}  // namespace pippin::nn
