#include "pippin/nn/norm.h"

#include "pippin/array/ops.h"

namespace pippin::nn {

Norm::Norm(const Parameters& parameters, int64_t features, const NormOptions& options)
    : path_(parameters.path()), options_(options) {
  if (options.weight && options.one_plus) {
    std::vector<double> values = parameters.values("weight", {features});
    for (double& value : values) value += 1;
    weight_ = array::constant(parameters.type(), {features}, values, path_ + ".weight");
  } else if (options.weight) {
    weight_ = parameters.get("weight", {features});
  }
  if (options.bias) bias_ = parameters.get("bias", {features});
}

Norm::Norm(const Parameters& parameters, const std::vector<std::vector<double>>& weight,
           const NormOptions& options)
    : path_(parameters.path()), options_(options) {
  std::vector<double> values;
  for (const auto& head : weight) values.insert(values.end(), head.begin(), head.end());
  const auto heads = static_cast<int64_t>(weight.size());
  const auto features = static_cast<int64_t>(weight.at(0).size());
  const std::vector<int64_t> dims =
      heads == 1 ? std::vector<int64_t>{features} : std::vector<int64_t>{heads, 1, features};
  weight_ = array::constant(parameters.type(), dims, values, path_ + ".weight");
}

array::Array Norm::operator()(const array::Array& x) const {
  const array::Scope scope(path_);
  if (options_.kind == NormOptions::Kind::RMS) {
    const auto mean = array::reduce_mean(array::pow(x, 2.0), {-1}, /*keep_dims=*/true);
    const auto normalized = x * array::rsqrt(mean + options_.epsilon);
    return array::named(weight_ ? *weight_ * normalized : normalized, "");
  }
  if (!weight_ || weight_->rank() == 1) {
    return array::named(array::layer_norm(x, {-1}, weight_, bias_, options_.epsilon), "");
  }
  const auto normalized = array::layer_norm(x, {-1}, std::nullopt, std::nullopt, options_.epsilon);
  return array::named(*weight_ * normalized, "");
}

}  // namespace pippin::nn
