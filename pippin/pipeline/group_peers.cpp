#include "pippin/pipeline/group_peers.h"

#include <array>
#include <cstring>
#include <new>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/engine/run/strided.h"
#include "pippin/pipeline/pipeline.h"

namespace pippin::pipeline {
namespace {

using engine::Operand;
using engine::Peers;

// The parts of a peer.
std::vector<Operand> parts_of(std::span<const Peers::Divided> values, int peer) {
  std::vector<Operand> parts;
  parts.reserve(values.size());
  for (const Peers::Divided& value : values) {
    parts.push_back(
        engine::range_of(value.whole, value.axis, value.ranges[static_cast<size_t>(peer)]));
  }
  return parts;
}

size_t bytes_of(const std::vector<Operand>& parts) {
  int64_t bytes = 0;
  for (const Operand& part : parts) bytes += part.size() * engine::element_size(part.storage);
  return static_cast<size_t>(bytes);
}

// Copies between parts and their bytes, one after another without gaps.
void copy(const std::vector<Operand>& parts, std::byte* bytes, bool to_parts) {
  for (const Operand& part : parts) {
    const auto size = static_cast<size_t>(engine::element_size(part.storage));
    Operand dense = part;
    dense.data = bytes;
    int64_t stride = 1;
    for (int axis = part.rank; axis-- > 0;) {
      dense.strides[axis] = stride;
      stride *= part.shape[axis];
    }
    bytes += part.size() * static_cast<int64_t>(size);
    if (part.size() == 0) continue;
    const Operand &to = to_parts ? part : dense, &from = to_parts ? dense : part;
    const engine::StridedLoop<2> loop({to, from});
    loop.run(0, loop.outer_count, [&](std::array<std::byte*, 2> at, int64_t count) {
      if (loop.inner_strides[0] == 1 && loop.inner_strides[1] == 1) {
        std::memcpy(at[0], at[1], static_cast<size_t>(count) * size);
        return;
      }
      const auto step = [&](size_t k) {
        return loop.inner_strides[k] * static_cast<int64_t>(size);
      };
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(at[0] + i * step(0), at[1] + i * step(1), size);
      }
    });
  }
}

}  // namespace

int GroupPeers::index() const {
  return pipeline_.rank() % pipeline_.width();
}

int GroupPeers::count() const {
  return pipeline_.width();
}

void GroupPeers::exchange(std::span<const Divided> values) {
  try {
    send_own(values);
    receive_others(values);
  } catch (const std::bad_alloc&) {
    pipeline_.end_job(Error(ErrorCode::LimitExceeded, "no memory for the results of a step"));
  }
}

void GroupPeers::send_own(std::span<const Divided> values) {
  const std::vector<Operand> own = parts_of(values, index());
  if (bytes_of(own) == 0) return;
  Message message(bytes_of(own));
  copy(own, message.data(), false);
  for (int peer = 0; peer < count(); ++peer) {
    if (peer != index()) pipeline_.send_part(rank_of(peer), message);
  }
}

void GroupPeers::receive_others(std::span<const Divided> values) {
  for (int peer = 0; peer < count(); ++peer) {
    const std::vector<Operand> parts = parts_of(values, peer);
    if (peer == index() || bytes_of(parts) == 0) continue;
    Message message = pipeline_.part_of(rank_of(peer));
    if (message.size() != bytes_of(parts)) {
      fail(ErrorCode::Device, "rank {} sent {} bytes of a result, {} are expected", rank_of(peer),
           message.size(), bytes_of(parts));
    }
    copy(parts, message.data(), true);
  }
}

int GroupPeers::rank_of(int peer) const {
  return pipeline_.leader(pipeline_.group()) + peer;
}

}  // namespace pippin::pipeline
