// The entry points of the kernels on a GPU.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <span>

#include "pippin/cuda/launchers/launch.h"
#include "pippin/cuda/run/embedded.h"
#include "pippin/cuda/run/gpu.h"

namespace pippin::cuda {

class LoadedKernels {
 public:
  // Loads the first of the fatbins that the GPU and its driver accept. Throws Unsupported if none
  // has anything for them.
  LoadedKernels(GpuPointer gpu, std::span<const KernelImage> images);
  LoadedKernels(const LoadedKernels&) = delete;
  LoadedKernels& operator=(const LoadedKernels&) = delete;
  ~LoadedKernels();

  // NAME, which takes its arguments by value, or NAME_lanes, which takes an array of them in the
  // GPU's memory. Not while a stream is captured: the first call for a kernel loads it.
  Function find(Kernel kernel, bool of_lanes) const;

 private:
  Result load(KernelImage image);

  GpuPointer gpu_;
  Library library_ = nullptr;
  mutable std::mutex mutex_;
  mutable std::array<std::array<Function, 2>, kNumKernels> functions_ = {};
};

}  // namespace pippin::cuda
