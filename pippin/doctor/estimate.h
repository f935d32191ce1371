// What a package costs, estimated from its program alone: bytes that a token reads, what is loaded,
// and which operations are likely to run where.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/doctor/rule.h"
#include "pippin/mil/model.h"

namespace pippin::doctor {

enum class Device : uint8_t { None, Cpu, NeuralEngine };
std::string_view to_string(Device device);  // "-", "CPU/GPU", "Neural Engine"

// An operation of a run. Operations whose results are known when the model is loaded run nowhere.
struct PlannedOperation {
  const mil::Operation* operation;
  Device device = Device::None;
  double share = 0;            // of its function's cost, 0..1
  const Rule* rule = nullptr;  // that keeps it off the Neural Engine
};

struct FunctionEstimate {
  std::string name;
  std::vector<PlannedOperation> operations;
  double engine_share = 0;  // of the cost, on the Neural Engine; 0..1
  int64_t pieces = 0;       // stretches of operations on the Neural Engine
};

struct PackageEstimate {
  uint64_t weight_bytes = 0;  // of one load
  // Core ML loads (and compiles for the device) each function for itself.
  int64_t loads = 0;
  uint64_t token_bytes = 0;  // of weights that one token reads
  uint64_t cache_bytes = 0;  // of caches that one token reads at most, once they are full
  std::vector<FunctionEstimate> functions;
};

// Of a model that is no pipeline. `findings`: of examine_model() on this very model.
PackageEstimate estimate(const mil::Model& model, const std::vector<Finding>& findings);

}  // namespace pippin::doctor
