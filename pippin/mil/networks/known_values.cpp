#include "pippin/mil/networks/known_values.h"

#include "pippin/mil/ops/rules.h"

namespace pippin::mil::networks {

std::optional<std::vector<int64_t>> known_integers(const Graph& graph, const Var* var) {
  const ValueInfo& info = graph.info(var);
  std::vector<int64_t> values;
  if (info.elements) {
    for (const Dim& element : *info.elements) {
      const auto number = element.try_constant();
      if (!number) return std::nullopt;
      values.push_back(*number);
    }
    return values;
  }
  const Value* constant = constant_of(var);
  if (constant == nullptr || constant->type.num_elements() > kMaxElements) return std::nullopt;
  for (const double number : constant->to_doubles()) {
    values.push_back(static_cast<int64_t>(saturate_to_type(number, DataType::Int64)));
  }
  return values;
}

}  // namespace pippin::mil::networks
