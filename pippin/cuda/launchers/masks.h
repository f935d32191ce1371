// Masks that the device makes itself.
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/cuda/launchers/launch.h"
#include "pippin/engine/run/step.h"

namespace pippin::cuda {

// Fills a contiguous mask [.., rows, keys]: row i is 0 for keys [0, past + i] and -inf after them.
void add_causal_mask(const engine::Operand& mask, int64_t past, std::vector<Launch>& launches);

}  // namespace pippin::cuda
