// Devices other than the CPU, for LoadOptions::device.
#pragma once

#include <memory>
#include <string_view>

#include "pippin/base/export.h"
#include "pippin/engine/compute_options.h"

namespace pippin {

// Returns whether this system has Core ML.
PIPPIN_API bool has_core_ml();

// Returns this system's Core ML, with compute units "all", "cpuAndNeuralEngine", "cpuAndGPU" or
// "cpuOnly". Throws InvalidArgument for other names; Unsupported if there is no Core ML (it is part
// of macOS), or its version lacks the units.
PIPPIN_API std::shared_ptr<engine::Device> core_ml_device(std::string_view compute_units = "all");

// Returns the device for a name: null, meaning the CPU, for "cpu"; core_ml_device() for "coreml".
// Empty units mean the default. Throws InvalidArgument for another name, and for units with the
// CPU.
PIPPIN_API std::shared_ptr<engine::Device> open_device(std::string_view backend,
                                                       std::string_view compute_units = "");

}  // namespace pippin
