#include "pippin/models/config/tensor_names.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace pippin::models {
namespace {

// "a.b" and "c" for "a.b.c".
std::pair<std::string_view, std::string_view> last_part(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == name.npos) return {{}, name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> all) {
  return std::find(all.begin(), all.end(), name) != all.end();
}

// "LayerNorm", "layer_norm", "norm1".
bool is_norm(std::string_view module) {
  const std::string_view name = last_part(module).second;
  return name.find("Norm") != name.npos || name.find("norm") != name.npos;
}

std::string current_name(const Checkpoint& checkpoint, const std::string& name) {
  constexpr std::array kRenamed = {std::pair{"gamma", "weight"}, std::pair{"beta", "bias"}};
  const auto [module, tensor] = last_part(name);
  for (const auto& [old, current] : kRenamed) {
    if (tensor != old || !is_norm(module)) continue;
    std::string now = std::string(module) + "." + current;
    return checkpoint.contains(now) ? name : now;
  }
  if (tensor == "dense_bias") return std::string(module) + ".dense.bias";
  constexpr std::string_view kBlocks = "language_model.model.blocks.";
  if (name.starts_with(kBlocks)) {
    return "language_model.model.layers." + name.substr(kBlocks.size());
  }
  // OLMo Hybrid's norms, as transformers 5 names them.
  constexpr std::array kNorms = {std::pair{"attention_layer_norm", "input_layernorm"},
                                 std::pair{"feedforward_layer_norm", "post_attention_layernorm"}};
  for (const auto& [other, current] : kNorms) {
    const auto [layer, norm] = last_part(module);
    if (norm != other) continue;
    std::string now = fmt::format("{}.{}.{}", layer, current, tensor);
    return checkpoint.contains(now) ? name : now;
  }
  constexpr std::string_view kShared = "shared.weight", kTable = "encoder.embed_tokens.weight";
  if (name.ends_with(kTable)) {
    std::string now = name.substr(0, name.size() - kTable.size()) + std::string(kShared);
    const bool is_t5 =
        checkpoint.contains(name.substr(0, name.size() - kTable.size()) +
                            "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight");
    if (is_t5 && !checkpoint.contains(now)) return now;
  }
  return name;
}

// The block of experts, which newer classes name like a plain feed-forward.
std::string sparse_name(std::string name) {
  constexpr std::string_view kNew = ".mlp.", kOld = ".block_sparse_moe.";
  const size_t place = name.find(kNew);
  return place == name.npos ? name : name.replace(place, kNew.size(), kOld);
}

// "....switch_mlp" and "gate_proj.weight" if a tensor is a stack of experts' matrices.
Checkpoint::Parts experts_of(const TensorInfo& tensor) {
  const auto [module, part] = last_part(tensor.name);
  const auto [experts, matrix] = last_part(module);
  const bool is_vector = part == "bias";
  if (!is_one_of(matrix, {"gate_proj", "up_proj", "down_proj"}) ||
      !is_one_of(last_part(experts).second, {"switch_mlp", "switch_glu", "experts", "moe"}) ||
      !is_one_of(part, {"weight", "scales", "biases", "bias"}) ||
      tensor.shape.size() != (is_vector ? 2U : 3U) || tensor.shape.front() < 1) {
    return std::nullopt;
  }
  // Step 3.5 has a router of the name "moe.gate" next to them.
  const auto [layer, name] = last_part(experts);
  const std::string place = name == "moe" ? std::string(layer) + ".experts" : std::string(experts);
  const auto count = static_cast<size_t>(tensor.shape.front());
  const size_t bytes = tensor.bytes.size() / count;
  std::vector<TensorInfo> all(count, tensor);
  for (size_t i = 0; i < count; ++i) {
    TensorInfo& one = all[i];
    one.name = fmt::format("{}.{}.{}.{}", place, i, matrix, part);
    one.shape.erase(one.shape.begin());
    one.bytes = tensor.bytes.subspan(i * bytes, bytes);
  }
  return all;
}

}  // namespace

Checkpoint with_current_names(const Checkpoint& checkpoint, std::string_view model_type) {
  const bool sparse = is_one_of(model_type, {"mixtral", "minimax", "minimax_m2", "phimoe"});
  return checkpoint.divided([&](const TensorInfo& tensor) -> Checkpoint::Parts {
    if (auto experts = experts_of(tensor)) return experts;
    std::string now = current_name(checkpoint, tensor.name);
    if (sparse) now = sparse_name(std::move(now));
    if (now == tensor.name) return std::nullopt;
    TensorInfo renamed = tensor;
    renamed.name = std::move(now);
    return std::vector<TensorInfo>{std::move(renamed)};
  });
}

}  // namespace pippin::models
