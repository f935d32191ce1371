#include "pippin/mx/nn/quantized.h"

#include <unordered_map>

#include "pippin/base/error.h"
#include "pippin/mx/core/index.h"
#include "pippin/mx/ops/binary.h"
#include "pippin/mx/ops/quantized.h"

namespace pippin::mx::nn {

QuantizedWeight::QuantizedWeight(Module& of, const array& matrix, int group, int code_bits,
                                 const std::string& how)
    : QuantizedWeight(of, mx::quantize(matrix, group, code_bits, how), group, code_bits, how) {}

QuantizedWeight::QuantizedWeight(Module& of, const std::vector<array>& parts, int group,
                                 int code_bits, const std::string& how)
    : weight(of, "weight", parts[0]),
      scales(of, "scales", parts[1]),
      group_size(group),
      bits(code_bits),
      mode(how) {
  if (parts.size() > 2) biases.emplace(of, "biases", parts[2]);
}

array QuantizedWeight::multiply(const array& x) const {
  const auto edges = biases ? std::optional<array>(**biases) : std::nullopt;
  return quantized_matmul(x, *weight, *scales, edges, true, group_size, bits, mode);
}

array QuantizedWeight::rows(const array& ids) const {
  const auto edges = biases ? std::optional<array>(take(**biases, ids, 0)) : std::nullopt;
  return dequantize(take(*weight, ids, 0), take(*scales, ids, 0), edges, group_size, bits, mode);
}

QuantizedLinear::QuantizedLinear(const Linear& linear, int group_size, int bits,
                                 const std::string& mode)
    : quantized(*this, *linear.weight, group_size, bits, mode) {
  if (linear.bias) bias.emplace(*this, "bias", **linear.bias);
}

array QuantizedLinear::operator()(const array& x) const {
  const array y = quantized.multiply(x);
  return bias ? y + **bias : y;
}

QuantizedEmbedding::QuantizedEmbedding(const Embedding& embedding, int group_size, int bits,
                                       const std::string& mode)
    : quantized(*this, *embedding.weight, group_size, bits, mode) {}

array QuantizedEmbedding::operator()(const array& ids) const {
  return quantized.rows(ids);
}

array QuantizedEmbedding::as_linear(const array& x) const {
  return quantized.multiply(x);
}

void quantize(Module& module, int group_size, int bits, const std::string& mode,
              const std::function<bool(const std::string&, Module&)>& choose) {
  for (const auto& [name, each] : module.named_modules()) {
    if (name.empty() || (choose && !choose(name, *each))) continue;
    const std::shared_ptr<Module> replacement =
        with_context(name, [&, m = each] { return m->to_quantized(group_size, bits, mode); });
    if (replacement) module.replace(name, replacement);
  }
}

void quantize_like(Module& module, const ArrayMap& weights) {
  std::unordered_map<std::string, const array*> by_name;
  for (const auto& [name, value] : weights) by_name.emplace(name, &value);
  const auto find = [&](const std::string& name) {
    const auto found = by_name.find(name);
    return found == by_name.end() ? nullptr : found->second;
  };
  for (const auto& [name, each] : module.named_modules()) {
    if (name.empty()) continue;
    const array* codes = find(name + ".weight");
    const array* scales = find(name + ".scales");
    const ArrayMap held = each->parameters();
    // Replaces the float matrix of a layer if quantized weights are given for it.
    if (codes == nullptr || scales == nullptr || codes->dtype() != uint32 || held.empty() ||
        held[0].first != "weight" || !is_floating(held[0].second.dtype())) {
      continue;
    }
    const int64_t width = held[0].second.shape(-1);
    const int64_t groups = scales->ndim() == 0 ? 0 : scales->shape(-1);
    const int64_t code_bits = codes->ndim() == 0 ? 0 : codes->shape(-1) * 32;
    if (groups <= 0 || width % groups != 0 || code_bits % width != 0) {
      fail(
          ErrorCode::InvalidArgument,
          "[load_weights] {}: expected quantized weights of width {}, found values of shape {} and "
          "scales of shape {}.",
          name, width, to_string(codes->shape()), to_string(scales->shape()));
    }
    const std::string mode = find(name + ".biases") != nullptr ? "affine"
                             : width / groups == 16            ? "nvfp4"
                             : code_bits / width == 8          ? "mxfp8"
                                                               : "mxfp4";
    const std::shared_ptr<Module> replacement = with_context(name, [&, m = each] {
      return m->to_quantized(static_cast<int>(width / groups), static_cast<int>(code_bits / width),
                             mode);
    });
    if (replacement) module.replace(name, replacement);
  }
}

}  // namespace pippin::mx::nn
