// What Core ML itself says of a program: where each operation would run, and its share of the cost.
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
  std::vector<OperationPlan> operations;  // as Framework::plan() gives them
  // Of the costs, that of operations for which the device is the preferred one.
  double share(ComputeDevice device) const;
};

// Of each function; the model is compiled, and kept, as for a run. Throws Unsupported as
// usable_framework(), before macOS 14.4, and for models that are no programs; Device, with Core
// ML's words, where it fails or takes longer than the options allow; Cancelled.
std::vector<FunctionPlan> ask_plans(const mil::Model& model,
                                    const std::shared_ptr<LoadCache>& cache,
                                    const DeviceOptions& options = {},
                                    Framework* framework = system_framework());

}  // namespace pippin::coreml
