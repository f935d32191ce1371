#include "pippin/engine/device.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/engine/cache_type.h"
#include "pippin/engine/cpu_device.h"
#include "pippin/engine/dynamic/plan_runner.h"
#include "pippin/engine/parted_device.h"

namespace pippin::engine {

std::unique_ptr<Runner> Device::make_runner(const mil::Model& model, std::string_view function,
                                            ThreadPool& pool, const RunnerOptions& options) {
  return make_plan_runner(model, function, pool, options);
}

Device& device_of(const ComputeOptions& compute) {
  return compute.device != nullptr ? *compute.device : cpu_device();
}

ComputeOptions options_of_part(const ComputeOptions& compute, size_t index, size_t count) {
  ComputeOptions options = compute;
  auto* const parted = dynamic_cast<PartedDevice*>(compute.device.get());
  if (parted != nullptr) options.device = parted->of_part(index, count);
  return options;
}

ComputeOptions options_of_end(const ComputeOptions& compute, bool is_last) {
  ComputeOptions options = compute;
  auto* const parted = dynamic_cast<PartedDevice*>(compute.device.get());
  if (parted != nullptr) options.device = parted->of_end(is_last);
  return options;
}

int64_t prompt_piece(const ComputeOptions& compute, int64_t tokens) {
  const auto* const parted = dynamic_cast<const PartedDevice*>(compute.device.get());
  return parted == nullptr ? tokens : std::min(tokens, parted->prompt_piece());
}

int64_t runs_in_flight(const ComputeOptions& compute) {
  const auto* const parted = dynamic_cast<const PartedDevice*>(compute.device.get());
  return parted == nullptr ? 1 : parted->runs_in_flight();
}

std::shared_ptr<const Plan> Plan::make(const mil::Model& model, std::string_view function,
                                       const PlanOptions& options) {
  Device& device = device_of(options.compute);
  if (options.cache_type != CacheType::F16 && &device != &cpu_device()) {
    fail(ErrorCode::Unsupported, "the device '{}' stores caches as f16, only the CPU as {}",
         device.name(), to_string(options.cache_type));
  }
  return device.make_plan(model, function, options);
}

std::unique_ptr<Runner> Runner::make(const mil::Model& model, std::string_view function,
                                     ThreadPool& pool, const RunnerOptions& options) {
  return device_of(options.compute).make_runner(model, function, pool, options);
}

}  // namespace pippin::engine
