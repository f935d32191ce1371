// Attention in half of the heads, and convolutions in the other half. Each token computes their
// kernels from its query and the tokens around it (Jiang et al. 2020, ConvBERT).
//
// Padding counts among these tokens, as in Hugging Face's class: a text's states depend on its
// padding.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "pippin/array/array.h"
#include "pippin/nn/layers/linear.h"
#include "pippin/nn/layers/mixer.h"
#include "pippin/nn/weights/parameters.h"

namespace pippin::nn {

struct SpanAttentionOptions {
  int64_t features = 0;
  int64_t num_heads = 0;  // of attention, and as many convolutions
  int64_t head_dim = 0;
  int64_t size = 9;  // tokens that a convolution sees, an odd number
  std::string inner = "self", output = "output.dense";

  int64_t inner_features() const { return num_heads * head_dim; }
  MixerNeeds needs() const;
  std::unique_ptr<const Mixer> make(const Parameters& parameters) const;
};

class SpanAttention final : public Mixer {
 public:
  SpanAttention(const Parameters& parameters, const SpanAttentionOptions& options);

  array::Array operator()(const array::Array& x, const MixerInput& input) const override;

 private:
  array::Array heads(const array::Array& x) const;  // (batch, heads, length, head_dim)
  array::Array attend(const array::Array& x, const array::Array& query,
                      const array::Array& mask) const;
  // Both are (batch, length, heads * head_dim).
  array::Array convolve(const array::Array& x, const array::Array& query) const;

  std::string path_;
  SpanAttentionOptions options_;
  Linear query_, key_, value_;
  array::Array depthwise_, pointwise_, bias_;
  Linear kernel_, values_, output_;
};

}  // namespace pippin::nn
