#include "pippin/engine/run/host_state.h"

namespace pippin::engine {
namespace {

constexpr const char* kWhat = "a state";

}  // namespace

HostState::HostState(const std::vector<mil::Feature>& states) {
  for (const mil::Feature& state : states) arrays_.emplace_back(state_bytes(state), kWhat);
}

void HostState::reset() {
  for (Memory& array : arrays_) array.zero();
}

void HostState::read_rows(size_t index, const StateRows& rows, std::byte* to,
                          uint64_t stride) const {
  engine::read_rows(arrays_.at(index).data(), rows, to, stride);
}

void HostState::write_rows(size_t index, const StateRows& rows, const std::byte* from,
                           uint64_t stride) {
  engine::write_rows(arrays_.at(index).data(), rows, from, stride);
}

void HostState::copy_rows(size_t index, const StateRows& rows, const StateMemory& from) {
  if (rows.size() == 0) return;
  const uint64_t begin = rows.first * rows.row_bytes;
  write_rows(index, rows, from.here(index).data() + begin, rows.rows * rows.row_bytes);
}

MutableByteSpan HostState::here(size_t index) const {
  return {arrays_.at(index).data(), arrays_.at(index).size()};
}

std::unique_ptr<StateMemory> HostState::clone() const {
  auto copy = std::make_unique<HostState>(std::vector<mil::Feature>());
  for (const Memory& array : arrays_) copy->arrays_.push_back(array.copy(kWhat));
  return copy;
}

}  // namespace pippin::engine
