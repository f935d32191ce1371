// Nodes on a GPU: the one that PIPPIN_CUDA_TEST_DEVICE numbers, or the stand-in for the driver.
#pragma once

#include <vector>

#include "pippin/cuda/fake/node_testing.h"
#include "pippin/cuda/run/resources.h"

namespace pippin::cuda {

// Returns the GPU with that number, on which tests of nodes run in addition to the emulator; null
// if the variable is not set. Throws as open_device().
Resources* test_gpu();

// Runs a node by the GPU's kernels on copies of the arrays, and copies them back. The limits of the
// check hold as well as those of the GPU.
void run_on_gpu(Resources& gpu, const engine::Node& node, const engine::ComputeOptions& options,
                const NodeCheck& check, std::vector<TestArray>& arrays);

}  // namespace pippin::cuda
