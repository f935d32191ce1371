#include "pippin/engine/device.h"

#include "pippin/engine/cpu_device.h"
#include "pippin/engine/dynamic/plan_runner.h"

namespace pippin::engine {

std::unique_ptr<Runner> Device::make_runner(const mil::Model& model, std::string_view function,
                                            ThreadPool& pool, const RunnerOptions& options) {
  return make_plan_runner(model, function, pool, options);
}

Device& device_of(const ComputeOptions& compute) {
  return compute.device != nullptr ? *compute.device : cpu_device();
}

std::shared_ptr<const Plan> Plan::make(const mil::Model& model, std::string_view function,
                                       const PlanOptions& options) {
  return device_of(options.compute).make_plan(model, function, options);
}

std::unique_ptr<Runner> Runner::make(const mil::Model& model, std::string_view function,
                                     ThreadPool& pool, const RunnerOptions& options) {
  return device_of(options.compute).make_runner(model, function, pool, options);
}

}  // namespace pippin::engine
