// Where programs run other than on the CPU: what LoadOptions::device takes.
#pragma once

#include <memory>
#include <string_view>

#include "pippin/base/export.h"
#include "pippin/engine/compute_options.h"

namespace pippin {

// This system's Core ML, with "all" compute units, "cpuAndNeuralEngine", "cpuAndGPU" or "cpuOnly".
// Throws InvalidArgument for other names; Unsupported where there is no Core ML (it is part of
// macOS), or where its version lacks the units.
PIPPIN_API std::shared_ptr<engine::Device> core_ml_device(std::string_view compute_units = "all");

}  // namespace pippin
