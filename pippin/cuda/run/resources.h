// The resources shared by the plans, states and executions of an opened device.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "pippin/cuda/run/kernels_loaded.h"
#include "pippin/cuda/run/weights.h"
#include "pippin/engine/device.h"

namespace pippin::cuda {

// Ways to run, with the same results; tests compare them.
struct RunOptions {
  bool graphs = true;  // runs of equal grids as one captured graph
  bool joins = true;   // several lanes in one launch
  bool fuses = true;   // some nodes in one launch (launchers/fuse.h)
};

struct Resources {
  Resources(const Driver& driver, int index, std::span<const KernelImage> images,
            const RunOptions& options)
      : name(index == 0 ? "cuda" : "cuda:" + std::to_string(index)),
        run(options),
        gpu(entered(std::make_shared<const Gpu>(driver, index))),
        kernels(gpu, images),
        weights(gpu),
        copies(std::make_shared<Timeline>(gpu)) {}

  const std::string name;
  const RunOptions run;
  const GpuPointer gpu;
  const LoadedKernels kernels;
  DeviceWeights weights;
  const std::shared_ptr<Timeline> copies;  // of states that no execution has used

 private:
  static GpuPointer entered(GpuPointer gpu) {
    gpu->enter();
    return gpu;
  }
};
using ResourcesPointer = std::shared_ptr<Resources>;

// The device of open_device(), with these options.
std::shared_ptr<engine::Device> open_device(int index, const Driver& driver,
                                            const RunOptions& options);

}  // namespace pippin::cuda
