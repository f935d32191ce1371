#include <algorithm>
#include <unordered_map>

#include "pippin/mil/ops/families.h"

namespace pippin::mil {
namespace {

std::vector<OpDef> make_table() {
  std::vector<OpDef> table;
  const auto append = [&](std::vector<OpDef> family) {
    std::move(family.begin(), family.end(), std::back_inserter(table));
  };
  const auto add = [&](auto*... families) { (append(families()), ...); };
  add(activation_ops, attention_ops, classify_ops, constant_ops, constexpr_ops, control_flow_ops,
      convolution_ops, elementwise_binary_ops, elementwise_unary_ops, gather_ops, join_ops,
      linear_ops, list_ops, normalization_ops, packed_constexpr_ops, pooling_ops, quantization_ops,
      random_ops, rearrange_ops, recurrent_ops, reduction_ops, resizing_ops, sampling_ops,
      scatter_ops, shape_ops, slice_ops, spatial_ops, state_ops, suppression_ops, tensor_ops);
  std::sort(table.begin(), table.end(), [](const OpDef& a, const OpDef& b) {
    return a.name != b.name ? a.name < b.name : a.since < b.since;
  });
  return table;
}

}  // namespace

std::span<const OpDef> op_table() {
  static const std::vector<OpDef> table = make_table();
  return table;
}

const OpDef* find_op(std::string_view name) {
  // Called for every operation while a plan is made, so it must not search.
  static const std::unordered_map<std::string_view, const OpDef*> newest = [] {
    std::unordered_map<std::string_view, const OpDef*> result;
    for (const OpDef& def : op_table()) result[def.name] = &def;  // sorted by opset
    return result;
  }();
  const auto found = newest.find(name);
  return found == newest.end() ? nullptr : found->second;
}

const OpDef* find_op(std::string_view name, Opset opset) {
  const std::span<const OpDef> table = op_table();
  auto it = std::lower_bound(table.begin(), table.end(), name,
                             [](const OpDef& def, std::string_view key) { return def.name < key; });
  const OpDef* found = nullptr;
  for (; it != table.end() && it->name == name && it->since <= opset; ++it) found = &*it;
  return found;
}

}  // namespace pippin::mil
