#include <atomic>

#include "pippin/base/error.h"
#include "pippin/engine/state_buffer.h"
#include "pippin/mil/data_type.h"

namespace pippin::engine {

namespace {

uint64_t next_id() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

State::State(const std::vector<mil::Feature>& states) : id_(next_id()) {
  for (const mil::Feature& feature : states) {
    const mil::ValueType type = mil::ValueType::tensor(feature.data_type, feature.shape);
    auto buffer = std::make_unique<Buffer>();
    buffer->memory = Memory(mil::packed_size(feature.data_type, type.num_elements()), "a state");
    buffers_.emplace(feature.name, std::move(buffer));
  }
}

State::State(State&&) noexcept = default;
State& State::operator=(State&&) noexcept = default;
State::~State() = default;

void State::reset() {
  for (auto& [name, buffer] : buffers_) buffer->memory.zero();
}

MutableByteSpan State::bytes(std::string_view name) {
  const auto found = buffers_.find(name);
  if (found == buffers_.end()) fail(ErrorCode::NotFound, "there is no state '{}'", name);
  return {found->second->memory.data(), found->second->memory.size()};
}

uint64_t State::size_bytes() const {
  uint64_t total = 0;
  for (const auto& [name, buffer] : buffers_) total += buffer->memory.size();
  return total;
}

}  // namespace pippin::engine
