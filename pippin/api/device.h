// Where programs run other than on the CPU: what LoadOptions::device takes.
#pragma once

#include <memory>
#include <string_view>

#include "pippin/base/export.h"
#include "pippin/engine/compute_options.h"

namespace pippin {

// Whether this system has Core ML.
PIPPIN_API bool has_core_ml();

// This system's Core ML, with "all" compute units, "cpuAndNeuralEngine", "cpuAndGPU" or "cpuOnly".
// Throws InvalidArgument for other names; Unsupported where there is no Core ML (it is part of
// macOS), or where its version lacks the units.
PIPPIN_API std::shared_ptr<engine::Device> core_ml_device(std::string_view compute_units = "all");

// What names stand for: null, which is the CPU, for "cpu"; for "coreml" core_ml_device(). Empty
// units are not given. Throws InvalidArgument for another name, and for units of the CPU.
PIPPIN_API std::shared_ptr<engine::Device> open_device(std::string_view backend,
                                                       std::string_view compute_units = "");

}  // namespace pippin
