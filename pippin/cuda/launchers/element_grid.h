// The grid of kernels that have a thread for each element.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pippin/cuda/launchers/launch.h"

namespace pippin::cuda {

constexpr int64_t kElementThreads = 128;  // of a block

template <typename Args>
Launch element_launch(Kernel kernel, const Args& args, int64_t threads, int64_t depth = 1) {
  const int64_t block = std::clamp<int64_t>((threads + 31) / 32 * 32, 32, kElementThreads);
  return Launch::of(kernel, args, (threads + block - 1) / block, static_cast<unsigned>(block), 0,
                    depth);
}

}  // namespace pippin::cuda
