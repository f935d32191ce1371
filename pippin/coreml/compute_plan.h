// Core ML's own plan for a program: the device of each operation, and its share of the cost.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/coreml/device.h"
#include "pippin/io/load_cache.h"
#include "pippin/mil/model.h"

namespace pippin::coreml {

std::string_view to_string(ComputeDevice device);  // "Neural Engine", "GPU", "CPU", "?"

struct FunctionPlan {
  std::string function;
  std::vector<OperationPlan> operations;  // as returned by Framework::plan()
  // The fraction of the cost of operations that prefer the device.
  double share(ComputeDevice device) const;
};

// The plan of each function; compiles and caches the model as for a run. Throws Unsupported as
// usable_framework(), before macOS 14.4, and for models that are not programs; Device, with Core
// ML's message, if it fails or takes longer than the options allow; Cancelled.
std::vector<FunctionPlan> ask_plans(const mil::Model& model,
                                    const std::shared_ptr<LoadCache>& cache,
                                    const DeviceOptions& options = {},
                                    Framework* framework = system_framework());

}  // namespace pippin::coreml
