// The options --backend and --compute-units, which choose the device; and the hidden command that
// the Core ML device runs for work that may crash (coreml/trial.h).
#pragma once

#include <memory>
#include <string>

#include "pippin/coreml/device.h"
#include "pippin/engine/device.h"

namespace CLI {
class App;
}

namespace pippin::cli {

struct BackendChoice {
  std::string backend = "cpu", units = "all";
};
// `choice` must outlive `command`.
void add_backend_options(CLI::App& command, BackendChoice& choice);
// Returns null for the CPU. Writes what Core ML loads to stderr. Throws Unsupported if Core ML is
// not available.
std::shared_ptr<engine::Device> open_backend(const BackendChoice& choice);

// The options for --backend coreml.
coreml::DeviceOptions core_ml_options(const BackendChoice& choice);

CLI::App* add_core_ml_trial_command(CLI::App& app);

}  // namespace pippin::cli
