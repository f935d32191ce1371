#include "pippin/nn/layers/norm.h"

#include "pippin/array/ops.h"

namespace pippin::nn {

using array::Array;

namespace {

int64_t axis_of(const Style& style, Norm::Of of) {
  if (!style.channels()) return -1;
  return of == Norm::Of::Heads ? 2 : 1;
}

}  // namespace

NormOptions without_weight(NormOptions options) {
  options.weight = false;
  return options;
}

std::vector<int64_t> Norm::weight_dims(int64_t heads, int64_t features) const {
  std::vector<int64_t> dims = {features};
  if (heads > 1) dims = {heads, 1, features};
  if (axis_ < 0 || (options_.kind == NormOptions::Kind::Layer && heads == 1)) return dims;
  // For (1, heads, features, q) or (1, features, height, width).
  if (axis_ == 2) return {1, heads, features, 1};
  return {1, features, 1, 1};
}

Norm::Norm(const Parameters& parameters, int64_t features, const NormOptions& options, Of of)
    : path_(parameters.path()),
      options_(options),
      style_(parameters.style()),
      axis_(axis_of(style_, of)) {
  const std::vector<int64_t> dims = weight_dims(1, features);
  const auto stored = options.weight ? parameters.stored("weight", features) : std::nullopt;
  if (stored) {
    weight_ = stored_weight(*stored, 1, features);
  } else if (options.weight && (options.one_plus || options.scale != 1.0)) {
    std::vector<double> values = parameters.values("weight", {features});
    for (double& value : values) value = (value + (options.one_plus ? 1 : 0)) * options.scale;
    weight_ = array::constant(parameters.type(), dims, values, path_ + ".weight");
  } else if (options.weight) {
    weight_ = parameters.get("weight", {features});
    if (dims.size() > 1) weight_ = with_dims(*weight_, path_ + ".weight", dims);
  }
  if (options.bias) bias_ = parameters.get("bias", {features});
  choose(parameters);
}

void Norm::choose(const Parameters& parameters) {
  if (weight_) {
    const double added = options_.one_plus || options_.one_plus_in_adapters ? 1.0 : 0.0;
    chosen_weight_ = parameters.run_vectors(
        "weight", *weight_, {},
        [added, scale = options_.scale](double value) { return (value + added) * scale; });
  }
  if (bias_) chosen_bias_ = parameters.run_vectors("bias", *bias_);
}

Norm::Norm(const Parameters& parameters, const std::vector<std::vector<double>>& weight,
           const NormOptions& options)
    : path_(parameters.path()),
      options_(options),
      style_(parameters.style()),
      axis_(axis_of(style_, Of::Heads)) {
  std::vector<double> values;
  for (const auto& head : weight) values.insert(values.end(), head.begin(), head.end());
  const auto heads = static_cast<int64_t>(weight.size());
  const auto features = static_cast<int64_t>(weight.at(0).size());
  weight_ =
      array::constant(parameters.type(), weight_dims(heads, features), values, path_ + ".weight");
}

Norm::Norm(const Parameters& parameters, const Array& weight, int64_t heads,
           const NormOptions& options)
    : path_(parameters.path()),
      options_(options),
      style_(parameters.style()),
      axis_(axis_of(style_, Of::Heads)) {
  weight_ = stored_weight(weight, heads, weight.dim(0).constant() / heads);
}

Array Norm::stored_weight(const Array& weight, int64_t heads, int64_t features) const {
  const std::string name = path_ + ".weight";
  const std::vector<int64_t> dims = weight_dims(heads, features);
  if (options_.scale == 1.0) return with_dims(weight, name, dims);
  std::vector<double> values = weight.info().constant->to_doubles();
  for (double& value : values) value *= options_.scale;
  return array::constant(weight.type(), dims, values, name);
}

Array Norm::normalized(const Array& x) const {
  if (style_.doubled_norms) {
    const int64_t features = x.dim(axis_).constant();
    const Array doubled = array::concat({x, x * -1.0}, axis_);
    const Array normal =
        array::layer_norm(doubled, {axis_}, std::nullopt, std::nullopt, options_.epsilon);
    return array::slice_axis(normal, axis_, 0, features);
  }
  const Array squares = style_.channels() ? x * x : array::pow(x, 2.0);
  const Array mean = array::reduce_mean(squares, {axis_}, /*keep_dims=*/true);
  return x * array::rsqrt(mean, options_.epsilon);
}

// y, the norm of x, with the changes of the adapters that replace its weight or its bias.
Array Norm::with_chosen(const Array& y, const Array& x) const {
  Array sum = y;
  if (chosen_weight_) {
    const Array normal =
        options_.kind == NormOptions::Kind::RMS
            ? normalized(x)
            : array::layer_norm(x, {axis_}, std::nullopt, std::nullopt, options_.epsilon);
    sum = sum + array::named(normal * chosen_weight_->sum(), "weight_change");
  }
  if (chosen_bias_) sum = array::named(sum, "with_weight") + chosen_bias_->sum();
  return array::named(sum, "");
}

Array Norm::operator()(const Array& x) const {
  const array::Scope scope(path_);
  const bool is_chosen = chosen_weight_ || chosen_bias_;
  const auto finished = [&](const Array& y) {
    return is_chosen ? with_chosen(array::named(y, "base"), x) : array::named(y, "");
  };
  if (options_.kind == NormOptions::Kind::RMS) {
    const Array normal = normalized(x);
    return finished(weight_ ? *weight_ * normal : normal);
  }
  if (!weight_ || weight_->rank() == 1) {
    return finished(array::layer_norm(x, {axis_}, weight_, bias_, options_.epsilon));
  }
  const Array normal = array::layer_norm(x, {axis_}, std::nullopt, std::nullopt, options_.epsilon);
  return finished(*weight_ * normal);
}

Array Norm::between(const Array& x) const {
  if (style_.channels() || x.rank() != 4) return (*this)(x);
  return to_channels((*this)(to_rows(x)));
}

}  // namespace pippin::nn
