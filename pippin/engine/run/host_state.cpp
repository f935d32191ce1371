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

ByteSpan HostState::bytes(size_t index) const {
  return {arrays_.at(index).data(), arrays_.at(index).size()};
}

MutableByteSpan HostState::bytes(size_t index) {
  return {arrays_.at(index).data(), arrays_.at(index).size()};
}

std::unique_ptr<StateMemory> HostState::clone() const {
  auto copy = std::make_unique<HostState>(std::vector<mil::Feature>());
  for (const Memory& array : arrays_) copy->arrays_.push_back(array.copy(kWhat));
  return copy;
}

}  // namespace pippin::engine
