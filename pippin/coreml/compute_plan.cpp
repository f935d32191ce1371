#include "pippin/coreml/compute_plan.h"

#include <utility>

#include "pippin/base/error.h"
#include "pippin/coreml/compiled_models.h"
#include "pippin/coreml/trial.h"

namespace pippin::coreml {

std::string_view to_string(ComputeDevice device) {
  switch (device) {
    case ComputeDevice::NeuralEngine:
      return "Neural Engine";
    case ComputeDevice::Gpu:
      return "GPU";
    case ComputeDevice::Cpu:
      return "CPU";
    case ComputeDevice::Unknown:
      break;
  }
  return "?";
}

double FunctionPlan::share(ComputeDevice device) const {
  double share = 0;
  for (const OperationPlan& operation : operations) {
    if (operation.preferred == device) share += operation.cost.value_or(0);
  }
  return share;
}

std::vector<FunctionPlan> ask_plans(const mil::Model& model,
                                    const std::shared_ptr<LoadCache>& cache,
                                    const DeviceOptions& options, Framework* framework) {
  Framework& system = usable_framework(framework, options.units);
  if (!system.has_compute_plans()) {
    fail(ErrorCode::Unsupported, "Core ML tells its compute plans from macOS 14.4 on; this is {}",
         system.system());
  }
  const CompiledModels models(system, options);
  for (const mil::FunctionDescription& function : model.functions) {
    models.check(model, function.name);
  }
  LoadReport report;
  const auto compiled = models.get(model, cache, report);
  std::vector<FunctionPlan> plans;
  for (const mil::FunctionDescription& function : model.functions) {
    LoadChoice choice;
    choice.units = options.units;
    if (function.name != model.default_function) choice.function = function.name;
    FunctionPlan plan{function.name, {}};
    const ErrorText error_text = with_limit(options.limit, [&](const KeepWaiting& keep_waiting) {
      return system.plan(compiled->path, choice, function.name, keep_waiting, plan.operations);
    });
    if (!error_text.empty()) {
      fail(ErrorCode::Device, "{}: Core ML has no plan of {}: {}", compiled->name, function.name,
           error_text);
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace pippin::coreml
