// Runs kernels that take contiguous elements over views with any strides.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "pippin/engine/run/strided.h"

namespace pippin::engine {

// Calls body(out, inputs, steps, count) over contiguous output rows; inputs whose inner stride is
// neither 0 nor 1 are gathered in chunks. The first operand has no gaps.
template <size_t N, typename Body>
void run_rows(const StepContext& context, const Body& body) {
  constexpr int64_t kChunk = 512;
  std::array<Operand, N> operands;
  for (size_t k = 0; k < N; ++k) operands[k] = context.operands[k];
  const StridedLoop<N> loop(operands);
  bool dense = true;
  for (size_t k = 1; k < N; ++k)
    dense = dense && (loop.inner_strides[k] == 0 || loop.inner_strides[k] == 1);
  loop.run_parallel(context.pool, [&](std::array<std::byte*, N> pointers, int64_t count) {
    std::array<int64_t, N> steps;
    for (size_t k = 0; k < N; ++k) steps[k] = count == 1 ? 0 : loop.inner_strides[k];
    if (dense) {
      body(pointers, steps, count);
      return;
    }
    alignas(64) std::byte gathered[N][kChunk * 4];
    for (int64_t begin = 0; begin < count; begin += kChunk) {
      const int64_t part = std::min(kChunk, count - begin);
      std::array<std::byte*, N> chunk;
      std::array<int64_t, N> chunk_steps;
      for (size_t k = 0; k < N; ++k) {
        const int64_t size = element_size(operands[k].storage);
        chunk[k] = pointers[k] + begin * steps[k] * size;
        chunk_steps[k] = steps[k];
        if (steps[k] == 0 || steps[k] == 1) continue;
        for (int64_t i = 0; i < part; ++i) {
          std::memcpy(gathered[k] + i * size, chunk[k] + i * steps[k] * size,
                      static_cast<size_t>(size));
        }
        chunk[k] = gathered[k];
        chunk_steps[k] = 1;
      }
      body(chunk, chunk_steps, part);
    }
  });
}

}  // namespace pippin::engine
