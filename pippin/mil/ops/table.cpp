#include <algorithm>
#include <unordered_map>

#include "pippin/mil/ops/families.h"

namespace pippin::mil {
namespace {

std::vector<OpDef> make_table() {
  std::vector<OpDef> table;
  const auto add = [&](std::vector<OpDef> family) {
    std::move(family.begin(), family.end(), std::back_inserter(table));
  };
  add(activation_ops());
  add(attention_ops());
  add(classify_ops());
  add(constant_ops());
  add(constexpr_ops());
  add(control_flow_ops());
  add(convolution_ops());
  add(elementwise_binary_ops());
  add(elementwise_unary_ops());
  add(gather_ops());
  add(join_ops());
  add(linear_ops());
  add(list_ops());
  add(normalization_ops());
  add(packed_constexpr_ops());
  add(pooling_ops());
  add(quantization_ops());
  add(random_ops());
  add(rearrange_ops());
  add(recurrent_ops());
  add(reduction_ops());
  add(resizing_ops());
  add(sampling_ops());
  add(scatter_ops());
  add(shape_ops());
  add(slice_ops());
  add(spatial_ops());
  add(state_ops());
  add(suppression_ops());
  add(tensor_ops());
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
