// Queues one kernel.
#pragma once

#include <cstdint>

#include "pippin/cuda/run/kernels_loaded.h"
#include "pippin/cuda/run/timeline.h"

namespace pippin::cuda {

// Whether the kernel may start before the one before it has ended, which it waits for itself. Only
// after a kernel: copies are waited for in the usual way.
enum class Start : uint8_t { InOrder, Early };

// With the grid of `launch` for `lanes` lanes; `parameter` points at the entry point's parameter.
void queue_kernel(Timeline& timeline, Function function, const Launch& launch, unsigned lanes,
                  const void* parameter, Start start);
// NAME, with the launch's arguments.
void queue_launch(Timeline& timeline, const LoadedKernels& kernels, const Launch& launch,
                  Start start = Start::InOrder);

}  // namespace pippin::cuda
