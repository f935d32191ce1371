#include "pippin/pipeline/group_peers.h"

#include <array>
#include <cstring>
#include <new>

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

// The parts as their bytes, one after another without gaps.
std::vector<Operand> dense_form(const std::vector<Operand>& parts, std::byte* bytes) {
  std::vector<Operand> dense = parts;
  for (Operand& part : dense) {
    part.data = bytes;
    int64_t stride = 1;
    for (int axis = part.rank; axis-- > 0; stride *= part.shape[axis]) part.strides[axis] = stride;
    bytes += part.size() * engine::element_size(part.storage);
  }
  return dense;
}

void copy(const Operand& to, const Operand& from) {
  if (to.size() == 0) return;
  const int64_t size = engine::element_size(to.storage);
  const engine::StridedLoop<2> loop({to, from});
  const int64_t to_step = loop.inner_strides[0] * size, from_step = loop.inner_strides[1] * size;
  loop.run(0, loop.outer_count, [&](std::array<std::byte*, 2> at, int64_t count) {
    if (to_step == size && from_step == size) {
      std::memcpy(at[0], at[1], static_cast<size_t>(count * size));
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(at[0] + i * to_step, at[1] + i * from_step, static_cast<size_t>(size));
    }
  });
}

}  // namespace

GroupPeers::GroupPeers(Pipeline& pipeline, int64_t least_work)
    : pipeline_(pipeline), least_work_(least_work) {
  const int first = pipeline.leader(pipeline.group());
  for (int rank = first; rank < first + pipeline.width(); ++rank) {
    if (rank != pipeline.rank()) others_.push_back(rank);
  }
}

int GroupPeers::index() const {
  return pipeline_.rank() % pipeline_.width();
}

int GroupPeers::count() const {
  return pipeline_.width();
}

void GroupPeers::exchange(std::span<const Divided> values) {
  try {
    const std::vector<Operand> own = parts_of(values, index());
    Message message(bytes_of(own));
    const std::vector<Operand> dense = dense_form(own, message.data());
    for (size_t i = 0; i < own.size(); ++i) copy(dense[i], own[i]);
    std::vector<Message> theirs = pipeline_.exchange(others_, message);
    for (size_t i = 0; i < others_.size(); ++i) take(values, others_[i], theirs[i]);
  } catch (const std::bad_alloc&) {
    pipeline_.end_job(Error(ErrorCode::LimitExceeded, "no memory for the results of a step"));
  }
}

void GroupPeers::take(std::span<const Divided> values, int rank, Message& message) const {
  const std::vector<Operand> parts = parts_of(values, rank % count());
  if (message.size() != bytes_of(parts)) {
    fail(ErrorCode::Device, "rank {} sent {} bytes of a result, {} are expected", rank,
         message.size(), bytes_of(parts));
  }
  const std::vector<Operand> dense = dense_form(parts, message.data());
  for (size_t i = 0; i < parts.size(); ++i) copy(parts[i], dense[i]);
}

}  // namespace pippin::pipeline
