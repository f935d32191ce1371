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
  QuantizedWeight(Module& of, const array& matrix, int group_size, int bits,
                  const std::string& mode);
  // x · Wᵀ.
  array multiply(const array& x) const;
  // Rows as floats.
  array rows(const array& ids) const;

  Parameter weight, scales;
  std::optional<Parameter> biases;
  int group_size, bits;
  std::string mode;

 private:
  QuantizedWeight(Module& of, const std::vector<array>& parts, int group_size, int bits,
                  const std::string& mode);
};

class PIPPIN_API QuantizedLinear final : public Layer {
 public:
  explicit QuantizedLinear(const Linear& linear, int group_size = 64, int bits = 4,
                           const std::string& mode = "affine");
  array operator()(const array& x) const override;

  QuantizedWeight quantized;
  std::optional<Parameter> bias;
};

class PIPPIN_API QuantizedEmbedding final : public EmbeddingLayer {
 public:
  explicit QuantizedEmbedding(const Embedding& embedding, int group_size = 64, int bits = 4,
                              const std::string& mode = "affine");
  array operator()(const array& ids) const override;
  array as_linear(const array& x) const override;

  QuantizedWeight quantized;
};

// Replaces the Linear and Embedding layers below `module` by quantized ones: those for whose full
// names `choose` returns true, or all without `choose`. Throws InvalidArgument, with the layer's
// name, if its width is not a multiple of group_size or it is declared as Child<Linear>.
PIPPIN_API void quantize(Module& module, int group_size = 64, int bits = 4,
                         const std::string& mode = "affine",
                         const std::function<bool(const std::string&, Module&)>& choose = nullptr);

// Quantizes the layers that are quantized in `weights` (NAME.scales next to NAME.weight), with the
// bits and groups that follow from their shapes.
PIPPIN_API void quantize_like(Module& module, const ArrayMap& weights);

}  // namespace pippin::mx::nn
