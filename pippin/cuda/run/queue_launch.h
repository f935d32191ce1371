// Queues one kernel.
#pragma once

#include "pippin/cuda/run/kernels_loaded.h"
#include "pippin/cuda/run/timeline.h"

namespace pippin::cuda {

// With the grid of `launch` for `lanes` lanes; `parameter` points at the entry point's parameter.
void queue_kernel(Timeline& timeline, Function function, const Launch& launch, unsigned lanes,
                  const void* parameter);
// NAME, with the launch's arguments.
void queue_launch(Timeline& timeline, const LoadedKernels& kernels, const Launch& launch);

}  // namespace pippin::cuda
