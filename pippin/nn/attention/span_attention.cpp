#include "pippin/nn/attention/span_attention.h"

#include <optional>
#include <vector>

#include "pippin/array/ops.h"
#include "pippin/nn/layers/token_convolution.h"

namespace pippin::nn {

using array::Array;

SpanAttention::SpanAttention(const Parameters& parameters, const SpanAttentionOptions& options)
    : path_(parameters.path()),
      options_(options),
      query_(parameters.at(options.inner + ".query"), options.features, options.inner_features(),
             true),
      key_(parameters.at(options.inner + ".key"), options.features, options.inner_features(), true),
      value_(parameters.at(options.inner + ".value"), options.features, options.inner_features(),
             true),
      depthwise_(parameters.at(options.inner + ".key_conv_attn_layer.depthwise")
                     .get("weight", {options.features, 1, options.size})),
      pointwise_(parameters.at(options.inner + ".key_conv_attn_layer.pointwise")
                     .get("weight", {options.inner_features(), options.features, 1})),
      bias_(parameters.at(options.inner + ".key_conv_attn_layer")
                .get("bias", {options.inner_features(), 1})),
      kernel_(parameters.at(options.inner + ".conv_kernel_layer"), options.inner_features(),
              options.num_heads * options.size, true),
      values_(parameters.at(options.inner + ".conv_out_layer"), options.features,
              options.inner_features(), true),
      output_(parameters.at(options.output), 2 * options.inner_features(), options.features, true) {
}

Array SpanAttention::heads(const Array& x) const {
  const Array split =
      array::reshape(x, {x.dim(0), x.dim(1), options_.num_heads, options_.head_dim});
  return array::transpose(split, {0, 2, 1, 3});
}

Array SpanAttention::attend(const Array& x, const Array& query, const Array& mask) const {
  const Array queries = heads(query);
  const Array keys = heads(key_(x));
  const Array values = heads(value_(x));
  const Array attended = array::scaled_dot_product_attention(queries, keys, values, mask);
  return array::reshape(array::transpose(attended, {0, 2, 1, 3}),
                        {x.dim(0), x.dim(1), options_.inner_features()});
}

Array SpanAttention::convolve(const Array& x, const Array& query) const {
  const mil::Dim &batch = x.dim(0), &length = x.dim(1);
  const Array spans =
      convolve_tokens(convolve_tokens(x, depthwise_, options_.features), pointwise_, 1) +
      array::reshape(bias_, {options_.inner_features()});
  const Array kernels = array::softmax(
      array::reshape(kernel_(spans * query), {batch, length, options_.num_heads, options_.size}));
  const int64_t beside = options_.size / 2;
  const Array values =
      array::record_one("pad", {{"x", values_(x)},
                                {"pad", std::vector<int64_t>{0, 0, beside, beside, 0, 0}},
                                {"mode", "constant"},
                                {"constant_val", array::constant(x.type(), 0.0)}});
  const mil::Shape by_head = {batch, length, options_.num_heads, options_.head_dim};
  std::optional<Array> sum;
  for (int64_t tap = 0; tap < options_.size; ++tap) {
    const Array shifted = array::slice_axis(values, 1, tap, length + mil::Dim(tap));
    const Array factor = array::slice_axis(kernels, 3, tap, tap + 1);
    const Array part = array::reshape(shifted, by_head) * factor;
    sum = sum ? *sum + part : part;
  }
  return array::reshape(*sum, {batch, length, options_.inner_features()});
}

Array SpanAttention::operator()(const Array& x, const MixerInput& input) const {
  const array::Scope scope(path_);
  const Array query = query_(x);
  const Array attended = attend(x, query, *input.mask);
  return output_(array::concat({attended, convolve(x, query)}, -1));
}

MixerNeeds SpanAttentionOptions::needs() const {
  MixerNeeds needs;
  needs.name = "attention with convolutions";
  needs.kv_heads = num_heads;
  needs.head_dim = head_dim;
  return needs;
}

std::unique_ptr<const Mixer> SpanAttentionOptions::make(const Parameters& parameters) const {
  return std::make_unique<SpanAttention>(parameters, *this);
}

}  // namespace pippin::nn
