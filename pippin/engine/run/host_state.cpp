#include "pippin/engine/run/host_state.h"

#include <algorithm>

namespace pippin::engine {
namespace {

constexpr const char* kWhat = "a state";

}  // namespace

HostState::HostState(const std::vector<mil::Feature>& states) {
  arrays_.reserve(states.size());
  for (const mil::Feature& state : states) {
    arrays_.push_back(std::make_shared<Memory>(state_bytes(state), kWhat));
  }
}

void HostState::reset() {
  for (auto& array : arrays_) {
    if (array.use_count() > 1) {
      array = std::make_shared<Memory>(array->size(), kWhat);
    } else {
      array->zero();
    }
  }
}

void HostState::read_rows(size_t index, const StateRows& rows, std::byte* to,
                          uint64_t stride) const {
  engine::read_rows(arrays_.at(index)->data(), rows, to, stride);
}

void HostState::write_rows(size_t index, const StateRows& rows, const std::byte* from,
                           uint64_t stride) {
  engine::write_rows(arrays_.at(index)->data(), rows, from, stride);
}

void HostState::copy_rows(size_t index, const StateRows& rows, const StateMemory& from) {
  if (rows.size() == 0) return;
  const uint64_t begin = rows.first * rows.row_bytes;
  write_rows(index, rows, from.here(index).data() + begin, rows.rows * rows.row_bytes);
}

MutableByteSpan HostState::here(size_t index) const {
  return {arrays_.at(index)->data(), arrays_.at(index)->size()};
}

std::optional<uint64_t> HostState::bytes_present() const {
  uint64_t bytes = 0;
  for (const auto& array : arrays_) bytes += array->bytes_present();
  return bytes;
}

bool HostState::share(size_t index, const StateMemory& from) {
  arrays_.at(index) = static_cast<const HostState&>(from).arrays_.at(index);
  return true;
}

std::unique_ptr<StateMemory> HostState::clone() const {
  auto copy = std::make_unique<HostState>(std::vector<mil::Feature>());
  copy->arrays_.reserve(arrays_.size());
  for (const auto& array : arrays_) {
    copy->arrays_.push_back(std::make_shared<Memory>(array->copy(kWhat)));
  }
  return copy;
}

}  // namespace pippin::engine
