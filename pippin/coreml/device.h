// Core ML as a device: whole functions run where Core ML decides, on the CPU, the GPU or the Neural
// Engine. See docs/decisions/0028-core-ml-is-a-device.md.
//
// Packages are compiled once and stored in the load cache given in the options for plans. Models
// without a package, recorded from a Hugging Face folder, are first written as one.
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

// A report on loading a function, for users.
struct LoadReport {
  std::string model, function;
  std::optional<double> compile_seconds;  // nullopt: already compiled
  std::optional<double> trial_seconds;    // nullopt: not needed, or the result is known
  double load_seconds = 0;
};
// "core ml: main of m.mlpackage: compiled in 3.1 s, loaded in 0.5 s"
std::string to_string(const LoadReport& report);

struct DeviceOptions {
  ComputeUnits units = ComputeUnits::All;
  // The program that compiles models and tries them on the Neural Engine in a separate process,
  // since Core ML is known to end processes; called with the arguments of run_trial(). Empty: uses
  // this process.
  std::vector<std::string> trial = {};
  std::chrono::seconds limit = std::chrono::minutes(50);  // for compiling, and for a trial
  std::function<void(const LoadReport&)> on_load = {};    // called by the loading thread
};

// This system's Core ML; null if none exists: on Linux, unless a stand-in is set.
Framework* system_framework();
// For tests: sets a stand-in.
void set_system_framework(Framework* framework);

// The given framework. Throws Unsupported without Core ML, or if its version lacks the units.
Framework& usable_framework(Framework* framework, ComputeUnits units);

// Throws as usable_framework().
std::shared_ptr<engine::Device> open_device(const DeviceOptions& options = {},
                                            Framework* framework = system_framework());

}  // namespace pippin::coreml
