#include "pippin/nn/layers/token_convolution.h"

#include <vector>

#include "pippin/array/ops.h"

namespace pippin::nn {

using array::Array;

Array convolve_tokens(const Array& x, const Array& kernel, int64_t groups) {
  const int64_t beside = kernel.dim(2).constant() / 2;
  const Array columns = array::record_one("conv", {{"x", array::transpose(x, {0, 2, 1})},
                                                   {"weight", kernel},
                                                   {"groups", groups},
                                                   {"pad_type", "custom"},
                                                   {"pad", std::vector<int64_t>{beside, beside}}});
  return array::transpose(columns, {0, 2, 1});
}

TokenConvolution::TokenConvolution(const Parameters& parameters,
                                   const TokenConvolutionOptions& options)
    : path_(parameters.path()),
      options_(options),
      kernel_(parameters.at("conv").get(
          "weight", {options.features, options.features / options.groups, options.size})),
      bias_(parameters.at("conv").get("bias", {options.features})),
      norm_(parameters.at("LayerNorm"), options.features, options.norm) {}

Array TokenConvolution::operator()(const Array& embedded, const Array& mask,
                                   const Array& states) const {
  const array::Scope scope(path_);
  const Array tokens = array::expand_dims(array::cast(mask, embedded.type()), {2});
  const Array y = convolve_tokens(embedded * tokens, kernel_, options_.groups) + bias_;
  return norm_(states + apply(options_.activation, y));
}

}  // namespace pippin::nn
