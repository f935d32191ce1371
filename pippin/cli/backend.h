// --backend and --compute-units: what a model is computed on; and the command that the Core ML
// device starts for what may end a process (coreml/trial.h).
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
// `choice` has to live as long as `command`.
void add_backend_options(CLI::App& command, BackendChoice& choice);
// Null is the CPU. What Core ML loads is said on stderr. Throws Unsupported where it is not there.
std::shared_ptr<engine::Device> open_backend(const BackendChoice& choice);

// What the choice comes to, with --backend coreml.
coreml::DeviceOptions core_ml_options(const BackendChoice& choice);

CLI::App* add_core_ml_trial_command(CLI::App& app);

}  // namespace pippin::cli
