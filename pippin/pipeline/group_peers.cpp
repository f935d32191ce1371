#include "pippin/pipeline/group_peers.h"

#include <new>

#include "pippin/base/cpu_features.h"
#include "pippin/base/error.h"
#include "pippin/engine/weights/copy_operand.h"
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

// Copies each operand.
void copy(const std::vector<Operand>& to, const std::vector<Operand>& from) {
  for (size_t i = 0; i < to.size(); ++i) engine::copy_operand(to[i], from[i], cpu_features());
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
    copy(dense_form(own, message.data()), own);
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
  copy(parts, dense_form(parts, message.data()));
}

}  // namespace pippin::pipeline
