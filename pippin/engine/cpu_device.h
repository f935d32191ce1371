// The CPU as a device: plans of steps that call kernels, states in the process's memory, and
// runners that interpret operations that cannot be planned.
#pragma once

#include "pippin/engine/device.h"

namespace pippin::engine {

Device& cpu_device();

}  // namespace pippin::engine
