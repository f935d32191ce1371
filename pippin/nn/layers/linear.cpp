#include "pippin/nn/layers/linear.h"

#include "pippin/array/ops.h"
#include "pippin/base/error.h"
#include "pippin/nn/weights/style.h"

namespace pippin::nn {
namespace {

// y + scale * (x · aᵀ) · bᵀ, or, for an embedding, with rows of `a` instead of a product. The
// low-rank product is scaled.
array::Array add_change(const array::Array& y, const array::Array& narrow,
                        const AdapterMatrices& adapter) {
  const array::Array scaled =
      adapter.scale == 1.0 ? narrow : array::named(narrow * adapter.scale, "lora_scaled");
  return y + array::named(array::linear(scaled, adapter.b, std::nullopt), "lora_B");
}

// (out, in), or with groups (1, groups, out, in) or (1, groups, in, out) of each.
array::Array matrix_of(const Parameters& parameters, int64_t in, int64_t out,
                       const WeightLayout& layout) {
  const int64_t groups = layout.groups;
  if (groups == 0) return parameters.get("weight", {out, in}, layout);
  if (parameters.style().convolutions) {
    fail(ErrorCode::Unsupported, "'{}': matrices of groups have no form for this package family",
         parameters.path());
  }
  const array::Scope scope(parameters.path());
  if (layout.stacked_groups) {
    const array::Array weight = parameters.get("weight", {groups, in / groups, out / groups});
    return array::reshape(weight, {1, groups, in / groups, out / groups});
  }
  const array::Array weight = parameters.get("weight", {out, in / groups, 1});
  return groups == 1 ? array::reshape(weight, {out, in})
                     : array::reshape(weight, {1, groups, out / groups, in / groups});
}

}  // namespace

Linear::Linear(const Parameters& parameters, int64_t in_features, int64_t out_features, bool bias,
               const WeightLayout& layout)
    : path_(parameters.path()),
      weight_(matrix_of(parameters, in_features, out_features, layout)),
      adapter_(parameters.separate_matrices(out_features, in_features, layout)),
      chosen_(parameters.run_matrices(out_features, in_features, layout)),
      convolution_(parameters.style().convolutions),
      stacked_(layout.stacked_groups),
      order_(parameters.input_order("weight")) {
  if (!layout.part.empty()) path_ += "." + layout.part;
  if (bias) bias_ = parameters.get("bias", {out_features}, layout);
  if (bias) chosen_bias_ = parameters.run_vectors("bias", *bias_, layout);
  make_kernel();
}

Linear::Linear(const std::string& path, array::Array weight, std::optional<array::Array> bias,
               bool convolution)
    : path_(path), weight_(std::move(weight)), bias_(std::move(bias)), convolution_(convolution) {
  make_kernel();
}

void Linear::choose(const Parameters& module, int64_t in_features, int64_t out_features) {
  chosen_ = module.run_matrices(out_features, in_features);
}

void Linear::add(array::Array a, array::Array b) {
  if (adapter_ || convolution_) {
    fail(ErrorCode::Unsupported, "'{}' has an adapter of its own: another one {}", path_,
         convolution_ ? "has no form for this package family" : "cannot be added");
  }
  adapter_ = AdapterMatrices{std::move(a), std::move(b), 1.0};
}

void Linear::make_kernel() {
  if (!convolution_ || weight_.rank() == 4) return;
  weight_ = with_dims(weight_, path_ + ".weight",
                      {weight_.dim(0).constant(), weight_.dim(1).constant(), 1, 1});
}

Linear Linear::outputs(int64_t index, int64_t begin, int64_t end) const {
  const std::string path = path_ + "." + std::to_string(index);
  std::optional<array::Array> bias;
  if (bias_) bias = constant_rows(*bias_, path + ".bias", begin, end);
  if (chosen_ || chosen_bias_) {
    fail(ErrorCode::Unsupported, "'{}' is divided, so adapters cannot change it", path_);
  }
  Linear part(path, constant_rows(weight_, path + ".weight", begin, end), bias, convolution_);
  part.order_ = order_;
  return part;
}

array::Array Linear::operator()(const array::Array& x) const {
  const array::Scope scope(path_);
  if (convolution_) return convolve(x);
  if (weight_.rank() == 4) return by_group(x);
  const array::Array taken =
      order_.empty()
          ? x
          : array::named(array::gather(x, array::constant(std::span(order_)), -1), "inputs");
  if (chosen_ || chosen_bias_) return with_chosen(x, taken);
  if (!adapter_) return array::named(array::linear(taken, weight_, bias_), "");
  const array::Array y = array::named(array::linear(taken, weight_, bias_), "base");
  const array::Array narrow = array::named(array::linear(x, adapter_->a, std::nullopt), "lora_A");
  return array::named(add_change(y, narrow, *adapter_), "");
}

array::Array Linear::with_chosen(const array::Array& x, const array::Array& taken) const {
  const bool bias_last = bias_ && chosen_ && chosen_->needs_products();
  const std::optional<array::Array> none;
  array::Array y = array::named(array::linear(taken, weight_, bias_last ? none : bias_), "base");
  if (chosen_) {
    y = chosen_->add_to(y, [&](const array::Array& matrix, std::string_view name) {
      return array::named(array::linear(x, matrix, std::nullopt), name);
    });
  }
  if (bias_last) y = array::named(y, "changed") + *bias_;
  if (chosen_bias_) y = array::named(y, "with_bias") + chosen_bias_->sum();
  return array::named(y, "");
}

array::Array Linear::by_group(const array::Array& x) const {
  const mil::Dim &batch = x.dim(0), &length = x.dim(1);
  const int64_t groups = weight_.dim(1).constant();
  const int64_t in = weight_.dim(stacked_ ? 2 : 3).constant();
  const int64_t out = weight_.dim(stacked_ ? 3 : 2).constant();
  const array::Array split =
      array::transpose(array::reshape(x, {batch, length, groups, in}), {0, 2, 1, 3});
  const array::Array product = array::matmul(split, weight_, false, /*transpose_y=*/!stacked_);
  const array::Array y =
      array::reshape(array::transpose(product, {0, 2, 1, 3}), {batch, length, groups * out});
  return array::named(bias_ ? y + *bias_ : y, "");
}

array::Array Linear::convolve(const array::Array& x) const {
  const bool rows = x.rank() == 3;
  std::vector<array::Param> params = {{"x", rows ? to_channels(x) : x}, {"weight", weight_}};
  if (bias_) params.emplace_back("bias", *bias_);
  params.emplace_back("pad_type", "valid");
  params.emplace_back("strides", std::vector<int64_t>{1, 1});
  params.emplace_back("pad", std::vector<int64_t>{0, 0, 0, 0});
  params.emplace_back("dilations", std::vector<int64_t>{1, 1});
  const array::Array y = array::named(array::record_one("conv", std::move(params)), "");
  return rows ? to_rows(y) : y;
}

Embedding::Embedding(const Parameters& parameters, int64_t num_embeddings, int64_t features)
    : path_(parameters.path()),
      weight_(parameters.get("weight", {num_embeddings, features})),
      adapter_(parameters.separate_matrices(num_embeddings, features)),
      chosen_(parameters.run_matrices(num_embeddings, features, {}, /*is_table=*/true)),
      convolutions_(parameters.style().convolutions) {}

Embedding::Embedding(const Parameters& parameters, array::Array table)
    : path_(parameters.path()), weight_(std::move(table)), convolutions_(false) {}

array::Array Embedding::operator()(const array::Array& ids) const {
  const array::Scope scope(path_);
  if (chosen_) {
    const array::Array y = array::named(array::gather(weight_, ids), "base");
    const auto rows = [&](const array::Array& table, std::string_view name) {
      return array::named(array::gather(table, ids), name);
    };
    return array::named(chosen_->add_to(y, rows), "");
  }
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
