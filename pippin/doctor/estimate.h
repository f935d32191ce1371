// The cost of a package, estimated from its program alone: bytes read per token, bytes loaded, and
// the likely device of each operation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/doctor/rule.h"
#include "pippin/mil/model.h"

namespace pippin::doctor {

enum class Device : uint8_t { None, Cpu, NeuralEngine };
std::string_view to_string(Device device);  // "-", "CPU/GPU", "Neural Engine"

// An operation of a run. Operations whose results are known when the model is loaded have no
// device.
struct PlannedOperation {
  const mil::Operation* operation;
  Device device = Device::None;
  double share = 0;            // of its function's cost, 0..1
  const Rule* rule = nullptr;  // the rule that keeps it off the Neural Engine
};

struct FunctionEstimate {
  std::string name;
  std::vector<PlannedOperation> operations;
  double engine_share = 0;  // fraction of the cost on the Neural Engine; 0..1
  int64_t pieces = 0;       // contiguous runs of operations on the Neural Engine
};

struct PackageEstimate {
  uint64_t weight_bytes = 0;  // per load
  // Core ML loads (and compiles for the device) each function separately.
  int64_t loads = 0;
  uint64_t token_bytes = 0;  // weights read per token
  uint64_t cache_bytes = 0;  // caches read per token, at most, when full
  std::vector<FunctionEstimate> functions;
};

// For a model that is not a pipeline. `findings` must come from examine_model() on this model.
PackageEstimate estimate(const mil::Model& model, const std::vector<Finding>& findings);

}  // namespace pippin::doctor
