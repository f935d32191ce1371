#include "pippin/engine/run/peers.h"

namespace pippin::engine {

std::vector<Range> shares_of(const Peers& peers, int64_t count, int64_t grain) {
  std::vector<Range> shares;
  shares.reserve(static_cast<size_t>(peers.count()));
  for (int peer = 0; peer < peers.count(); ++peer) {
    shares.push_back(split_range(count, peer, peers.count(), grain));
  }
  return shares;
}

Range own_share(const Peers& peers, int64_t count, int64_t grain) {
  return split_range(count, peers.index(), peers.count(), grain);
}

Operand range_of(const Operand& whole, int axis, Range range) {
  Operand part = whole;
  part.data += range.begin * whole.strides[axis] * element_size(whole.storage);
  part.shape[axis] = range.end - range.begin;
  return part;
}

}  // namespace pippin::engine
