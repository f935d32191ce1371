// The options --backend and --compute-units, which choose the device; and the hidden command that
// the Core ML device runs for work that may crash (coreml/trial.h).
#pragma once

#include <memory>
#include <string>

#include "pippin/coreml/device.h"
#include "pippin/engine/compute_options.h"

namespace CLI {
class App;
}

namespace pippin::cli {

struct BackendChoice {
  std::string backend = "cpu", units = "all";
};
// `choice` must outlive `command`.
void add_backend_options(CLI::App& command, BackendChoice& choice);
// Sets the device, and when the CPU takes its place. Writes the choice of "auto", and later what
// Core ML loads, to stderr. Throws Unsupported if Core ML or the GPU is not available, NotFound if
// there are fewer GPUs.
void open_backend(const BackendChoice& choice, engine::ComputeOptions& compute);

// The options for --backend coreml.
coreml::DeviceOptions core_ml_options(const BackendChoice& choice);

CLI::App* add_core_ml_trial_command(CLI::App& app);

}  // namespace pippin::cli
