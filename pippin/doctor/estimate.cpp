#include "pippin/doctor/estimate.h"

#include <map>

#include "pippin/app/facts/model_cost.h"
#include "pippin/app/facts/operation_cost.h"
#include "pippin/doctor/stored_weights.h"
#include "pippin/mil/ops/op.h"

namespace pippin::doctor {
namespace {

using KeptOff = std::map<const mil::Operation*, const Rule*>;

// Sizes, positions and conditions. Programs with many of them have a rule (integer-compute); a few
// are computed on the CPU meanwhile. The Neural Engine supports 16-bit indices.
bool is_of_integers(const mil::Operation& operation) {
  if (operation.outputs().empty() || !operation.output()->type.is_tensor()) return false;
  const mil::DataType type = operation.output()->type.data_type;
  return type == mil::DataType::Bool || (mil::is_integer(type) && mil::bit_width(type) > 16);
}

FunctionEstimate estimate_function(const mil::Model& model, const std::string& name,
                                   const KeptOff& kept_off) {
  FunctionEstimate result;
  result.name = name;
  Device before = Device::None;
  for (const app::OperationCost& cost : app::operation_costs(model, name)) {
    PlannedOperation planned{cost.operation};
    planned.share = cost.share;
    const bool runs = !cost.constant && cost.operation->blocks().empty();
    const bool is_numbers = is_of_integers(*cost.operation);
    if (runs) {
      const auto rule = kept_off.find(cost.operation);
      planned.rule = rule == kept_off.end() ? nullptr : rule->second;
      planned.device = planned.rule == nullptr && !is_numbers ? Device::NeuralEngine : Device::Cpu;
    }
    // Reshapes, states, sizes and positions cost nothing, and do not separate regions.
    if (planned.device == Device::NeuralEngine) {
      result.engine_share += cost.share;
      if (before != Device::NeuralEngine && cost.share > 0) ++result.pieces;
    }
    const bool is_aside = is_numbers && planned.rule == nullptr;
    if (cost.share > 0 && !is_aside) before = planned.device;
    result.operations.push_back(planned);
  }
  return result;
}

}  // namespace

std::string_view to_string(Device device) {
  switch (device) {
    case Device::None:
      return "-";
    case Device::Cpu:
      return "CPU/GPU";
    case Device::NeuralEngine:
      return "Neural Engine";
  }
  return {};
}

PackageEstimate estimate(const mil::Model& model, const std::vector<Finding>& findings) {
  KeptOff kept_off;
  for (const Finding& finding : findings) {
    if (!finding.rule->keeps_off) continue;
    for (const Place& place : finding.places) kept_off.emplace(place.operation, finding.rule);
  }
  PackageEstimate result;
  result.weight_bytes = total_bytes(stored_weights(model));
  result.loads = static_cast<int64_t>(model.functions.size());
  const app::ModelCost cost = app::model_cost({&model});
  result.token_bytes = cost.weight_bytes;
  for (const app::ModelCost::Cache& cache : cost.caches) result.cache_bytes += cache.bytes;
  for (const mil::FunctionDescription& function : model.functions) {
    if (!model.program.functions.contains(function.name)) continue;
    result.functions.push_back(estimate_function(model, function.name, kept_off));
  }
  return result;
}

}  // namespace pippin::doctor
