// Core ML as a device: functions run as a whole where Core ML decides, on the CPU, the GPU or the
// Neural Engine. docs/decisions/0028-core-ml-is-a-device.md tells how.
//
// Packages are compiled once and kept in the load cache of the options that plans are made with.
// Models that are no package, recorded from a Hugging Face folder, are written as one first.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/coreml/core_model.h"
#include "pippin/engine/device.h"

namespace pippin::coreml {

// "all", "cpuAndNeuralEngine", "cpuAndGPU", "cpuOnly". Throws InvalidArgument for other names.
ComputeUnits parse_units(std::string_view name);
std::string_view to_string(ComputeUnits units);

// How a function was loaded, for people.
struct LoadReport {
  std::string model, function;
  std::optional<double> compile_seconds;  // nothing: the compiled model was there
  std::optional<double> trial_seconds;    // nothing: not needed, or known
  double load_seconds = 0;
};
// "core ml: main of m.mlpackage: compiled in 3.1 s, loaded in 0.5 s"
std::string to_string(const LoadReport& report);

struct DeviceOptions {
  ComputeUnits units = ComputeUnits::All;
  // The program that compiles, and tries models on the Neural Engine, in a process of its own,
  // which Core ML is known to end: it is given what run_trial() takes. Empty: this process does.
  std::vector<std::string> trial = {};
  std::chrono::seconds limit = std::chrono::minutes(50);  // of compiling, and of a trial
  std::function<void(const LoadReport&)> on_load = {};    // called by the thread that loads
};

// This system's Core ML; null if there is none: on Linux, unless something stands in for it.
Framework* system_framework();
// For tests: what stands in for it.
void set_system_framework(Framework* framework);

// That one. Throws Unsupported if there is no Core ML, or where its version lacks the units.
Framework& usable_framework(Framework* framework, ComputeUnits units);

// Throws as usable_framework().
std::shared_ptr<engine::Device> open_device(const DeviceOptions& options = {},
                                            Framework* framework = system_framework());

}  // namespace pippin::coreml
