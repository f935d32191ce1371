#include "pippin/nn/linear.h"

#include "pippin/array/ops.h"

namespace pippin::nn {
namespace {

// y + scale * (x · aᵀ) · bᵀ, or with rows of `a` where x is none: an embedding's. The narrow
// product is scaled.
array::Array add_change(const array::Array& y, const array::Array& narrow,
                        const AdapterMatrices& adapter) {
  const array::Array scaled = array::named(narrow * adapter.scale, "lora_scaled");
  return y + array::named(array::linear(scaled, adapter.b, std::nullopt), "lora_B");
}

}  // namespace

Linear::Linear(const Parameters& parameters, int64_t in_features, int64_t out_features, bool bias,
               const WeightLayout& layout)
    : path_(parameters.path()),
      weight_(parameters.get("weight", {out_features, in_features}, layout)),
      adapter_(parameters.matrices_beside(out_features, in_features, layout)) {
  if (!layout.part.empty()) path_ += "." + layout.part;
  if (bias) bias_ = parameters.get("bias", {out_features}, layout);
}

Linear::Linear(const std::string& path, array::Array weight, std::optional<array::Array> bias)
    : path_(path), weight_(std::move(weight)), bias_(std::move(bias)) {}

array::Array Linear::operator()(const array::Array& x) const {
  const array::Scope scope(path_);
  if (!adapter_) return array::named(array::linear(x, weight_, bias_), "");
  const array::Array y = array::named(array::linear(x, weight_, bias_), "base");
  const array::Array narrow = array::named(array::linear(x, adapter_->a, std::nullopt), "lora_A");
  return array::named(add_change(y, narrow, *adapter_), "");
}

Embedding::Embedding(const Parameters& parameters, int64_t num_embeddings, int64_t features)
    : path_(parameters.path()),
      weight_(parameters.get("weight", {num_embeddings, features})),
      adapter_(parameters.matrices_beside(num_embeddings, features)) {}

array::Array Embedding::operator()(const array::Array& ids) const {
  const array::Scope scope(path_);
  if (!adapter_) return array::named(array::gather(weight_, ids), "");
  const array::Array y = array::named(array::gather(weight_, ids), "base");
  const array::Array narrow = array::named(array::gather(adapter_->a, ids), "lora_embedding_A");
  return array::named(add_change(y, narrow, *adapter_), "");
}

array::Array Embedding::rows(const mil::Dim& begin, const mil::Dim& end) const {
  const array::Scope scope(path_);
  return array::named(array::slice_axis(weight_, 0, begin, end), "");
}

}  // namespace pippin::nn
