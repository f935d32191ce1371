// Layers whose weights are quantized (mx/ops/quantized.h): parameters weight (packed codes), scales
// and, in affine mode, biases.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "pippin/mx/nn/layers.h"

namespace pippin::mx::nn {

// A quantized matrix as parameters of a layer.
class PIPPIN_API QuantizedWeight {
 public:
  // Quantizes a matrix [n, k] as mx::quantize(), and adds its parts to a module. Throws as that.
  QuantizedWeight(Module& of, const array& matrix, int group_size, int bits,
                  const std::string& mode);
  // Returns x · Wᵀ, [..., n] for x[..., k].
  array multiply(const array& x) const;
  // Returns the rows with these indices as floats: ids.shape + (k,).
  array rows(const array& ids) const;

  Parameter weight, scales;         // the packed values and the scales (mx/ops/quantized.h)
  std::optional<Parameter> biases;  // the biases of mode "affine"
  int group_size, bits;             // the elements per group, and the bits per element
  std::string mode;                 // the mode of quantization

 private:
  QuantizedWeight(Module& of, const std::vector<array>& parts, int group_size, int bits,
                  const std::string& mode);
};

// A Linear layer with a quantized weight.
class PIPPIN_API QuantizedLinear final : public Layer {
 public:
  // Quantizes the layer's weight; shares its bias. Throws as mx::quantize().
  explicit QuantizedLinear(const Linear& linear, int group_size = 64, int bits = 4,
                           const std::string& mode = "affine");
  array operator()(const array& x) const override;

  QuantizedWeight quantized;      // the weight [outputs, inputs]
  std::optional<Parameter> bias;  // [outputs], or absent
};

// An Embedding with a quantized table.
class PIPPIN_API QuantizedEmbedding final : public EmbeddingLayer {
 public:
  // Quantizes the layer's table. Throws as mx::quantize().
  explicit QuantizedEmbedding(const Embedding& embedding, int group_size = 64, int bits = 4,
                              const std::string& mode = "affine");
  array operator()(const array& ids) const override;
  array as_linear(const array& x) const override;

  QuantizedWeight quantized;  // the table [count, dims]
};

// Replaces the Linear and Embedding layers below `module` by quantized ones: those for whose full
// names `choose` returns true, or all without `choose`. Throws InvalidArgument, with the layer's
// name, if its width is not a multiple of group_size or it is declared as Child<Linear>.
PIPPIN_API void quantize(Module& module, int group_size = 64, int bits = 4,
                         const std::string& mode = "affine",
                         const std::function<bool(const std::string&, Module&)>& choose = nullptr);

// Quantizes the layers that are quantized in `weights` (NAME.scales next to NAME.weight), with the
// bits and groups that follow from their shapes. Throws InvalidArgument, with the name, for shapes
// that do not belong together, and the errors of mx::quantize().
PIPPIN_API void quantize_like(Module& module, const ArrayMap& weights);

}  // namespace pippin::mx::nn
