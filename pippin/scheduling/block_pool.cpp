#include "pippin/scheduling/block_pool.h"

#include <algorithm>

namespace pippin::scheduling {

BlockPool::BlockPool(int64_t tokens)
    : is_unlimited_(tokens < 0),
      total_(is_unlimited_ ? 0 : std::max<int64_t>(tokens / kBlockTokens, 1)) {}

bool BlockPool::grow(int64_t& held, int64_t tokens) {
  const int64_t more = blocks_for(tokens) - held;
  if (more <= 0) return true;
  if (!is_unlimited_ && used_ + more > total_) return false;
  used_ += more;
  held += more;
  return true;
}

void BlockPool::give_back(int64_t& held) {
  used_ -= held;
  held = 0;
}

}  // namespace pippin::scheduling
