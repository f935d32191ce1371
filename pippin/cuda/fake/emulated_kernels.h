// All kernels as C++.
#pragma once

#include <cstddef>

#include "pippin/cuda/launchers/launch.h"

namespace pippin::cuda {

// Runs one launch; `lanes` is the number of arguments, argument_bytes() apart.
void emulate_launch(Kernel kernel, const void* arguments, unsigned blocks, unsigned lanes,
                    unsigned depth, unsigned threads, size_t shared_bytes);

}  // namespace pippin::cuda
