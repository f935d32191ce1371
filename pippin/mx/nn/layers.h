// Layers with weights. Weights are initialized randomly, as in MLX.
//
// Parameters are named as in MLX and Hugging Face: weight, bias.
#pragma once

#include <optional>
#include <string>

#include "pippin/mx/nn/config.h"
#include "pippin/mx/nn/module.h"

namespace pippin::mx::nn {

// x · weightᵀ + bias: [..., outputs] for x[..., inputs]. Throws as matmul().
class PIPPIN_API Linear final : public Layer {
 public:
  // Initializes weight and bias evenly in ±1 / √inputs. Throws InvalidArgument for sizes below 1.
  Linear(int inputs, int outputs, bool bias = true);
  array operator()(const array& x) const override;
  std::shared_ptr<Module> to_quantized(int group_size, int bits,
                                       const std::string& mode) const override;

  Parameter weight;               // [outputs, inputs]
  std::optional<Parameter> bias;  // [outputs], or absent
};

// The base of Embedding and QuantizedEmbedding.
class PIPPIN_API EmbeddingLayer : public Layer {
 public:
  EmbeddingLayer() = default;
  EmbeddingLayer(EmbeddingLayer&&) noexcept = default;
  EmbeddingLayer& operator=(EmbeddingLayer&&) noexcept = default;
  ~EmbeddingLayer() override;
  // Returns x · tableᵀ, [..., count] for x[..., dims]: for outputs that share the table's weights.
  virtual array as_linear(const array& x) const = 0;
};

// Looks up rows of a table by integers: ids.shape + (dims,). Throws as take() along axis 0.
class PIPPIN_API Embedding final : public EmbeddingLayer {
 public:
  // Initializes the table evenly in ±√(3 / dims). Throws InvalidArgument for sizes below 1.
  Embedding(int count, int dims);
  array operator()(const array& ids) const override;
  array as_linear(const array& x) const override;
  std::shared_ptr<Module> to_quantized(int group_size, int bits,
                                       const std::string& mode) const override;

  Parameter weight;  // [count, dims]
};

// fast::rms_norm() over the last axis of x[..., dims].
class PIPPIN_API RMSNorm final : public Layer {
 public:
  // Initializes the weight with ones.
  explicit RMSNorm(int dims, float eps = 1e-5f);
  array operator()(const array& x) const override;

  Parameter weight;  // [dims]
  float eps;         // added to the mean of the squares
};

// fast::layer_norm() over the last axis of x[..., dims].
class PIPPIN_API LayerNorm final : public Layer {
 public:
  // Initializes the weight with ones and the bias with zeros; without `affine` there is neither.
  explicit LayerNorm(int dims, float eps = 1e-5f, bool affine = true, bool with_bias = true);
  array operator()(const array& x) const override;

  std::optional<Parameter> weight, bias;  // [dims], or absent
  float eps;                              // added to the variance
};

// Rotary embedding of x[..., length, dims or more] (fast::rope()), with a base or periods `freqs`.
// Throws as that.
class PIPPIN_API RoPE final : public Layer {
 public:
  // Rotates the first `dims` numbers of a row.
  explicit RoPE(int dims, bool traditional = false, float base = 10000, float scale = 1,
                const std::optional<array>& freqs = std::nullopt);
  // Reads rope_theta (default 10000) and rope_scaling of a Hugging Face configuration: types
  // "default", "linear" and "llama3" (the periods of Llama 3.1). Throws Unsupported for other
  // types, InvalidFile for missing values.
  static RoPE of(const Config& config, int dims);
  array operator()(const array& x) const override { return (*this)(x, 0); }
  // Starts at position `offset`: one number, or one for each entry of x's first axis.
  array operator()(const array& x, int offset) const;
  array operator()(const array& x, const array& offset) const;

  int dims;           // the number of elements that are rotated; even
  bool traditional;   // whether pairs are neighbours; otherwise elements i and i + dims / 2
  float base, scale;  // the base of the periods, and the factor of positions
  std::optional<array> freqs;  // the periods [dims / 2], instead of the base
};

// down_proj(silu(gate_proj(x)) * up_proj(x)), [..., dims] for x[..., dims]: the feed-forward
// network of Llama and similar models. Shazeer, "GLU Variants Improve Transformer" (2020).
class PIPPIN_API SwiGLU final : public Layer {
 public:
  // `hidden` is the width between the projections.
  SwiGLU(int dims, int hidden, bool bias = false);
  array operator()(const array& x) const override;

  Child<> gate_proj, up_proj, down_proj;  // Linear layers, or those that replaced them
};

// Multi-head attention with projections of queries, keys, values and the result. Vaswani et al.,
// "Attention Is All You Need" (2017).
class PIPPIN_API MultiHeadAttention final : public Module {
 public:
  // Throws InvalidArgument if num_heads does not divide dims.
  MultiHeadAttention(int dims, int num_heads, bool bias = false);
  // Returns [batch, rows, dims] for queries [batch, rows, dims] and keys and values [batch, length,
  // dims]; `mask` is added to the scores [batch, heads, rows, length] and broadcasts.
  array operator()(const array& queries, const array& keys, const array& values,
                   const std::optional<array>& mask = std::nullopt) const;
  // Returns [length, length]: 0 for visible positions, the type's lowest number elsewhere. Throws
  // InvalidArgument for types that are not floats.
  static array create_additive_causal_mask(int length, Dtype dtype = float32);

  // Linear layers, or those that replaced them.
  Child<> query_proj, key_proj, value_proj, out_proj;
  int num_heads;  // the number of heads, of dims / num_heads elements each
};

// Applies layers and functions in order. Layers are named "0", "1", ... by position.
class PIPPIN_API Sequential final : public Layer {
 public:
  // Appends a layer, named by its position.
  template <std::derived_from<Layer> N>
  void push_back(N layer) {
    const Child<> child(*this, std::to_string(steps_.size()), std::move(layer));
    steps_.emplace_back([child](const array& x) { return child(x); });
  }
  // Appends a function, which takes up a position and has no parameters.
  void push_back(std::function<array(const array&)> function);
  array operator()(const array& x) const override;

 private:
  std::vector<std::function<array(const array&)>> steps_;
};

}  // namespace pippin::mx::nn
