// Layers with weights. Weights are initialized randomly, as in MLX.
//
// Parameters are named as in MLX and Hugging Face: weight, bias.
#pragma once

#include <optional>
#include <string>

#include "pippin/mx/nn/config.h"
#include "pippin/mx/nn/module.h"

namespace pippin::mx::nn {

// x · weightᵀ + bias for x[..., inputs]; weight is [outputs, inputs].
class PIPPIN_API Linear final : public Layer {
 public:
  Linear(int inputs, int outputs, bool bias = true);
  array operator()(const array& x) const override;
  std::shared_ptr<Module> to_quantized(int group_size, int bits,
                                       const std::string& mode) const override;

  Parameter weight;
  std::optional<Parameter> bias;
};

// The base of Embedding and QuantizedEmbedding.
class PIPPIN_API EmbeddingLayer : public Layer {
 public:
  EmbeddingLayer() = default;
  EmbeddingLayer(EmbeddingLayer&&) noexcept = default;
  EmbeddingLayer& operator=(EmbeddingLayer&&) noexcept = default;
  ~EmbeddingLayer() override;
  // The product with the table, for outputs that share its weights.
  virtual array as_linear(const array& x) const = 0;
};

// Looks up rows of weight [count, dims] by integers.
class PIPPIN_API Embedding final : public EmbeddingLayer {
 public:
  Embedding(int count, int dims);
  array operator()(const array& ids) const override;
  array as_linear(const array& x) const override;
  std::shared_ptr<Module> to_quantized(int group_size, int bits,
                                       const std::string& mode) const override;

  Parameter weight;
};

class PIPPIN_API RMSNorm final : public Layer {
 public:
  explicit RMSNorm(int dims, float eps = 1e-5f);
  array operator()(const array& x) const override;

  Parameter weight;
  float eps;
};

class PIPPIN_API LayerNorm final : public Layer {
 public:
  explicit LayerNorm(int dims, float eps = 1e-5f, bool affine = true, bool with_bias = true);
  array operator()(const array& x) const override;

  std::optional<Parameter> weight, bias;
  float eps;
};

// Rotary embedding of x[..., length, dims or more] (fast::rope), with a base or periods `freqs`.
class PIPPIN_API RoPE final : public Layer {
 public:
  explicit RoPE(int dims, bool traditional = false, float base = 10000, float scale = 1,
                const std::optional<array>& freqs = std::nullopt);
  // From a Hugging Face configuration: rope_theta and rope_scaling. Types "default", "linear" and
  // "llama3" are supported; others throw Unsupported.
  static RoPE of(const Config& config, int dims);
  array operator()(const array& x) const override { return (*this)(x, 0); }
  // Starts at position `offset`: one number, or one for each entry of x's first axis.
  array operator()(const array& x, int offset) const;
  array operator()(const array& x, const array& offset) const;

  int dims;
  bool traditional;
  float base, scale;
  std::optional<array> freqs;
};

// down_proj(silu(gate_proj(x)) * up_proj(x)): the feed-forward network of Llama and similar models.
class PIPPIN_API SwiGLU final : public Layer {
 public:
  SwiGLU(int dims, int hidden, bool bias = false);
  array operator()(const array& x) const override;

  Child<> gate_proj, up_proj, down_proj;
};

// Multi-head attention, with projections query_proj, key_proj, value_proj and out_proj.
class PIPPIN_API MultiHeadAttention final : public Module {
 public:
  MultiHeadAttention(int dims, int num_heads, bool bias = false);
  // Inputs are [batch, length, dims] each; `mask` is added to the scores of [heads, queries, keys].
  array operator()(const array& queries, const array& keys, const array& values,
                   const std::optional<array>& mask = std::nullopt) const;
  // [length, length]: 0 for visible positions, the type's lowest number elsewhere.
  static array create_additive_causal_mask(int length, Dtype dtype = float32);

  Child<> query_proj, key_proj, value_proj, out_proj;
  int num_heads;
};

// Applies layers and functions in order. Layers are named "0", "1", ... by position.
class PIPPIN_API Sequential final : public Layer {
 public:
  template <std::derived_from<Layer> N>
  void push_back(N layer) {
    const Child<> child(*this, std::to_string(steps_.size()), std::move(layer));
    steps_.emplace_back([child](const array& x) { return child(x); });
  }
  void push_back(std::function<array(const array&)> function);
  array operator()(const array& x) const override;

 private:
  std::vector<std::function<array(const array&)>> steps_;
};

}  // namespace pippin::mx::nn
