#include "pippin/nn/linear.h"

#include "pippin/array/ops.h"

namespace pippin::nn {

Linear::Linear(const Parameters& parameters, int64_t in_features, int64_t out_features, bool bias,
               const WeightLayout& layout)
    : path_(parameters.path()),
      weight_(parameters.get("weight", {out_features, in_features}, layout)) {
  if (!layout.part.empty()) path_ += "." + layout.part;
  if (bias) bias_ = parameters.get("bias", {out_features}, layout);
}

Linear::Linear(const std::string& path, array::Array weight, std::optional<array::Array> bias)
    : path_(path), weight_(std::move(weight)), bias_(std::move(bias)) {}

array::Array Linear::operator()(const array::Array& x) const {
  const array::Scope scope(path_);
  return array::named(array::linear(x, weight_, bias_), "");
}

Embedding::Embedding(const Parameters& parameters, int64_t num_embeddings, int64_t features)
    : path_(parameters.path()), weight_(parameters.get("weight", {num_embeddings, features})) {}

array::Array Embedding::operator()(const array::Array& ids) const {
  const array::Scope scope(path_);
  return array::named(array::gather(weight_, ids), "");
}

array::Array Embedding::rows(const mil::Dim& begin, const mil::Dim& end) const {
  const array::Scope scope(path_);
  return array::named(array::slice_axis(weight_, 0, begin, end), "");
}

}  // namespace pippin::nn
