// Runs kernels as C++ (machine.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "pippin/cuda/emulate/machine.h"

namespace pippin::cuda::emulate {

// The order in which the threads of a block get their turns.
struct Order {
  enum class Kind : uint8_t { Forward, Backward, Shuffled } kind = Kind::Forward;
  uint32_t seed = 0;  // of Shuffled: another order in every round
};
// Of all launches from now on, of this thread.
void set_order(Order order);

struct Grid {
  Index blocks{1, 1, 1};
  unsigned threads = 32;    // of a block
  size_t shared_bytes = 0;  // of a block; filled with 0xEE before it starts
};

// Calls body() once for each thread of each block. Throws Error(Internal) if a kernel breaks the
// rules of machine.h, so that threads wait for each other forever.
void run(const Grid& grid, const std::function<void()>& body);

}  // namespace pippin::cuda::emulate
