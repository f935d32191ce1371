#include "pippin/mx/nn/layers.h"

#include <cmath>

#include "pippin/base/error.h"
#include "pippin/mx/core/index.h"
#include "pippin/mx/nn/activations.h"
#include "pippin/mx/nn/quantized.h"
#include "pippin/mx/ops/binary.h"
#include "pippin/mx/ops/create.h"
#include "pippin/mx/ops/fast.h"
#include "pippin/mx/ops/matmul.h"
#include "pippin/mx/ops/random.h"
#include "pippin/mx/ops/shape_ops.h"

namespace pippin::mx::nn {
namespace {

// Uniform between -1 and 1, divided by the square root of the number of inputs.
array random_weight(const char* layer, int inputs, const Shape& shape) {
  for (const int64_t size : shape) {
    if (size > 0) continue;
    fail(ErrorCode::InvalidArgument, "[{}] A weight of shape {}.", layer, to_string(shape));
  }
  const float most = std::sqrt(1.0f / static_cast<float>(inputs));
  return random::uniform(array(-most), array(most), shape);
}

// [batch, length, heads * size] to [batch, heads, length, size].
array split_heads(const array& x, int heads) {
  return transpose(unflatten(x, -1, {heads, -1}), {0, 2, 1, 3});
}

}  // namespace

EmbeddingLayer::~EmbeddingLayer() = default;

Linear::Linear(int inputs, int outputs, bool has_bias)
    : weight(*this, "weight", random_weight("Linear", inputs, {outputs, inputs})) {
  if (has_bias) bias.emplace(*this, "bias", random_weight("Linear", inputs, {outputs}));
}

array Linear::operator()(const array& x) const {
  const array w = transpose(*weight);
  return bias ? addmm(**bias, x, w) : matmul(x, w);
}

std::shared_ptr<Module> Linear::to_quantized(int group_size, int bits,
                                             const std::string& mode) const {
  return std::make_shared<QuantizedLinear>(*this, group_size, bits, mode);
}

Embedding::Embedding(int count, int dims)
    : weight(*this, "weight",
             random_weight("Embedding", dims, {count, dims}) * array(std::sqrt(3.0f))) {}

array Embedding::operator()(const array& ids) const {
  return take(*weight, ids, 0);
}

array Embedding::as_linear(const array& x) const {
  return matmul(x, transpose(*weight));
}

std::shared_ptr<Module> Embedding::to_quantized(int group_size, int bits,
                                                const std::string& mode) const {
  return std::make_shared<QuantizedEmbedding>(*this, group_size, bits, mode);
}

RMSNorm::RMSNorm(int dims, float epsilon) : weight(*this, "weight", ones({dims})), eps(epsilon) {}

array RMSNorm::operator()(const array& x) const {
  return fast::rms_norm(x, *weight, eps);
}

LayerNorm::LayerNorm(int dims, float epsilon, bool affine, bool with_bias) : eps(epsilon) {
  if (!affine) return;
  weight.emplace(*this, "weight", ones({dims}));
  if (with_bias) bias.emplace(*this, "bias", zeros({dims}));
}

array LayerNorm::operator()(const array& x) const {
  const auto value = [](const std::optional<Parameter>& parameter) {
    return parameter ? std::optional<array>(**parameter) : std::nullopt;
  };
  return fast::layer_norm(x, value(weight), value(bias), eps);
}

SwiGLU::SwiGLU(int dims, int hidden, bool bias)
    : gate_proj(*this, "gate_proj", Linear(dims, hidden, bias)),
      up_proj(*this, "up_proj", Linear(dims, hidden, bias)),
      down_proj(*this, "down_proj", Linear(hidden, dims, bias)) {}

array SwiGLU::operator()(const array& x) const {
  return down_proj(silu(gate_proj(x)) * up_proj(x));
}

MultiHeadAttention::MultiHeadAttention(int dims, int heads, bool bias)
    : query_proj(*this, "query_proj", Linear(dims, dims, bias)),
      key_proj(*this, "key_proj", Linear(dims, dims, bias)),
      value_proj(*this, "value_proj", Linear(dims, dims, bias)),
      out_proj(*this, "out_proj", Linear(dims, dims, bias)),
      num_heads(heads) {
  if (heads <= 0 || dims % heads != 0) {
    fail(ErrorCode::InvalidArgument, "[MultiHeadAttention] {} dimensions and {} heads.", dims,
         heads);
  }
}

array MultiHeadAttention::operator()(const array& queries, const array& keys, const array& values,
                                     const std::optional<array>& mask) const {
  const array q = split_heads(query_proj(queries), num_heads);
  const array k = split_heads(key_proj(keys), num_heads);
  const array v = split_heads(value_proj(values), num_heads);
  const float scale = 1 / std::sqrt(static_cast<float>(q.shape(-1)));
  const array mixed = fast::scaled_dot_product_attention(q, k, v, scale, mask ? "array" : "", mask);
  return out_proj(flatten(transpose(mixed, {0, 2, 1, 3}), -2, -1));
}

array MultiHeadAttention::create_additive_causal_mask(int length, Dtype dtype) {
  const array places = arange(length);
  const array is_later = less(expand_dims(places, 1), expand_dims(places, 0));
  return where(is_later, array(finfo(dtype).min, dtype), array(0.0f, dtype));
}

void Sequential::push_back(std::function<array(const array&)> function) {
  steps_.push_back(std::move(function));
}

array Sequential::operator()(const array& x) const {
  array value = x;
  for (const auto& step : steps_) value = step(value);
  return value;
}

}  // namespace pippin::mx::nn
