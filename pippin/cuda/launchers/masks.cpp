#include "pippin/cuda/launchers/masks.h"

#include <algorithm>
#include <bit>

#include "pippin/base/numbers/checked.h"
#include "pippin/cuda/kernels/masks_args.h"

namespace pippin::cuda {

void add_causal_mask(const engine::Operand& mask, int64_t past, std::vector<Launch>& launches) {
  const int64_t size = mask.size();
  if (size == 0) return;
  constexpr unsigned kThreads = 256;
  constexpr uint64_t kMostBlocks = 1024;
  // Powers of two, so that a mask that grows rarely changes the grid.
  const uint64_t blocks = std::bit_ceil(static_cast<uint64_t>(ceil_div<int64_t>(size, kThreads)));
  launches.push_back(Launch::of(Kernel::causal_mask,
                                CausalMaskArgs{mask.floats(), size, mask.shape[mask.rank - 2],
                                               mask.shape[mask.rank - 1], past},
                                static_cast<int64_t>(std::min(blocks, kMostBlocks)), kThreads));
}

}  // namespace pippin::cuda
