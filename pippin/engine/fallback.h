// Models whose device cannot run them go to the CPU, as a whole: plans of one model share states.
#pragma once

#include "pippin/base/error.h"
#include "pippin/engine/compute_options.h"

namespace pippin::engine {

// Whether a model that failed to open on the device of the options may be opened on the CPU. If so,
// logs a warning with the reason.
bool falls_back(const ComputeOptions& compute, const Error& error);

// Returns open(compute), which makes the plans of a model; if falls_back(), open() with the same
// options for the CPU.
template <typename Open>
auto on_device_or_cpu(const ComputeOptions& compute, Open&& open) {
  try {
    return open(compute);
  } catch (const Error& error) {
    if (!falls_back(compute, error)) throw;
  }
  ComputeOptions here = compute;
  here.device = nullptr;
  return open(here);
}

}  // namespace pippin::engine
