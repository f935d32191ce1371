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

// Returns whether cuda_device() can open one of this system's GPUs, which takes a moment.
PIPPIN_API bool has_cuda();

// Returns one of NVIDIA's GPUs, counted as CUDA counts them. It runs whole models: set
// LoadOptions::fallback to let the CPU run those that have an operation without a kernel. Throws
// NotFound if there are fewer GPUs; Unsupported, with the versions, if there is no driver, the
// driver or the GPU is too old, or this build has no kernels; InvalidArgument below 0.
PIPPIN_API std::shared_ptr<engine::Device> cuda_device(int index = 0);

// Returns the device for a name: null, meaning the CPU, for "cpu"; core_ml_device() for "coreml";
// cuda_device() for "cuda" or "cuda:1"; for "auto" the first usable GPU, or null. Empty units mean
// the default. Throws InvalidArgument for another name, and for units without Core ML.
PIPPIN_API std::shared_ptr<engine::Device> open_device(std::string_view backend,
                                                       std::string_view compute_units = "");

// Sets the device of the options to open_device(), and their fallback to NoKernel for "cuda",
// Always for "auto" and Never for others.
PIPPIN_API void set_backend(engine::ComputeOptions& options, std::string_view backend,
                            std::string_view compute_units = "");

}  // namespace pippin
