#include "pippin/cuda/run/state.h"

#include <algorithm>
#include <utility>

namespace pippin::cuda {
namespace {

using engine::StateMemory;
using engine::StateRows;

constexpr const char* kStateName = "a state";

// Calls body(offset in the array, bytes of a group, group).
template <typename Body>
void each_group(const StateRows& rows, const Body& body) {
  if (rows.size() == 0) return;
  for (uint64_t group = 0; group < rows.groups; ++group) {
    body((group * rows.rows + rows.first) * rows.row_bytes, rows.group_bytes(), group);
  }
}

std::vector<Timeline::Piece> pieces_of(const DeviceMemory& array, const StateRows& rows,
                                       std::byte* host, uint64_t stride) {
  std::vector<Timeline::Piece> pieces;
  pieces.reserve(rows.groups);
  each_group(rows, [&](uint64_t offset, uint64_t size, uint64_t group) {
    pieces.push_back({host + group * stride, array.address() + offset, size});
  });
  return pieces;
}

}  // namespace

CudaState::CudaState(ResourcesPointer resources, const std::vector<mil::Feature>& states)
    : resources_(std::move(resources)), timeline_(resources_->copies) {
  resources_->gpu->enter();
  arrays_.reserve(states.size());
  for (const mil::Feature& state : states) {
    arrays_.push_back(
        std::make_shared<DeviceMemory>(resources_->gpu, engine::state_bytes(state), kStateName));
  }
  try {
    reset();
  } catch (...) {
    timeline_->drain();
    throw;
  }
}

CudaState::~CudaState() {
  timeline_->drain();
}

void CudaState::reset() {
  resources_->gpu->enter();
  const auto held = timeline_->lock();
  for (auto& array : arrays_) {
    if (array.use_count() > 1) {
      array = std::make_shared<DeviceMemory>(resources_->gpu, array->size(), kStateName);
    }
    if (array->size() > 0) timeline_->fill(array->address(), 0, array->size());
  }
}

void CudaState::read_rows(size_t index, const StateRows& rows, std::byte* to,
                          uint64_t stride) const {
  resources_->gpu->enter();
  timeline_->download(pieces_of(*arrays_.at(index), rows, to, stride));
}

void CudaState::write_rows(size_t index, const StateRows& rows, const std::byte* from,
                           uint64_t stride) {
  resources_->gpu->enter();
  timeline_->upload(pieces_of(*arrays_.at(index), rows, const_cast<std::byte*>(from), stride));
}

void CudaState::copy_rows(size_t index, const StateRows& rows, const StateMemory& from) {
  const auto& other = static_cast<const CudaState&>(from);
  resources_->gpu->enter();
  const bool is_elsewhere = other.timeline_ != timeline_;
  if (is_elsewhere) {
    const auto held = other.timeline_->lock();
    other.timeline_->synchronize();
  }
  const auto held = timeline_->lock();
  const Address base = arrays_.at(index)->address(), source = other.arrays_.at(index)->address();
  each_group(rows, [&](uint64_t offset, uint64_t size, uint64_t) {
    timeline_->inside(base + offset, source + offset, size);
  });
  if (is_elsewhere) timeline_->synchronize();  // before the other changes again
}

bool CudaState::share(size_t index, const StateMemory& from) {
  const auto& other = static_cast<const CudaState&>(from);
  resources_->gpu->enter();
  for (Timeline* const timeline : {timeline_.get(), other.timeline_.get()}) {
    const auto held = timeline->lock();
    timeline->synchronize();
  }
  arrays_.at(index) = other.arrays_.at(index);
  return true;
}

std::unique_ptr<StateMemory> CudaState::clone() const {
  resources_->gpu->enter();
  std::unique_ptr<CudaState> copy(new CudaState(resources_, timeline_));
  const auto held = timeline_->lock();
  copy->arrays_.reserve(arrays_.size());
  for (const auto& array : arrays_) {
    copy->arrays_.push_back(
        std::make_shared<DeviceMemory>(resources_->gpu, array->size(), kStateName));
    if (array->size() == 0) continue;
    timeline_->inside(copy->arrays_.back()->address(), array->address(), array->size());
  }
  return copy;
}

void CudaState::move_to(const std::shared_ptr<Timeline>& timeline) {
  if (timeline == timeline_) return;
  {
    const auto held = timeline_->lock();
    timeline_->synchronize();
  }
  timeline_ = timeline;
}

}  // namespace pippin::cuda
