// A convolution over the tokens of a text (DeBERTa 2): its result on the embeddings is added to the
// first layer's states, and the sum is normalized.
#pragma once

#include <cstdint>
#include <string>

#include "pippin/array/array.h"
#include "pippin/nn/layers/mlp.h"
#include "pippin/nn/layers/norm.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct TokenConvolutionOptions {
  std::string path;  // with "conv" (features, features / groups, size), "LayerNorm" below
  int64_t features = 0;
  int64_t size = 3;  // tokens that it sees, an odd number
  int64_t groups = 1;
  Activation activation = Activation::Tanh;
  NormOptions norm;
};

class TokenConvolution {
 public:
  TokenConvolution(const Parameters& parameters, const TokenConvolutionOptions& options);

  // `embedded` and `states` are (batch, length, features); `mask` is int32 (batch, length), 1 for
  // tokens. Padding counts as zeros.
  array::Array operator()(const array::Array& embedded, const array::Array& mask,
                          const array::Array& states) const;

 private:
  std::string path_;
  TokenConvolutionOptions options_;
  array::Array kernel_, bias_;
  Norm norm_;
};

// x (batch, length, features) convolved along its tokens, with zeros around the text. The kernel is
// (outputs, features / groups, size), its size odd.
array::Array convolve_tokens(const array::Array& x, const array::Array& kernel, int64_t groups);

}  // namespace pippin::nn
