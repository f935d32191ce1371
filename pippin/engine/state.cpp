#include "pippin/engine/state.h"

#include <algorithm>
#include <atomic>

#include "pippin/base/error.h"
#include "pippin/engine/device.h"
#include "pippin/mil/data_type.h"

namespace pippin::engine {
namespace {

uint64_t next_id() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

std::vector<mil::Feature> each_once(const std::vector<mil::Feature>& states) {
  std::vector<mil::Feature> result;
  for (const mil::Feature& state : states) {
    const auto same = [&](const mil::Feature& other) { return other.name == state.name; };
    if (std::none_of(result.begin(), result.end(), same)) result.push_back(state);
  }
  return result;
}

}  // namespace

State::State(const std::vector<mil::Feature>& states, const ComputeOptions& compute)
    : features_(each_once(states)),
      device_(device_of(compute).name()),
      memory_(device_of(compute).make_state(features_)),
      id_(next_id()) {}

State::State(std::vector<mil::Feature> features, std::string device,
             std::unique_ptr<StateMemory> memory)
    : features_(std::move(features)),
      device_(std::move(device)),
      memory_(std::move(memory)),
      id_(next_id()) {}

State::State(State&&) noexcept = default;
State& State::operator=(State&&) noexcept = default;
State::~State() = default;

State State::clone() const {
  return State(features_, device_, memory_->clone());
}

void State::reset() {
  memory_->reset();
}

std::optional<size_t> State::find(std::string_view name) const {
  const auto found =
      std::find_if(features_.begin(), features_.end(),
                   [&](const mil::Feature& feature) { return feature.name == name; });
  if (found == features_.end()) return std::nullopt;
  return static_cast<size_t>(found - features_.begin());
}

size_t State::at(std::string_view name) const {
  if (const auto index = find(name)) return *index;
  fail(ErrorCode::NotFound, "unknown state '{}'", name);
}

ByteSpan State::bytes(std::string_view name) const {
  return std::as_const(*memory_).bytes(at(name));
}

MutableByteSpan State::bytes(std::string_view name) {
  return memory_->bytes(at(name));
}

uint64_t State::size_bytes() const {
  uint64_t total = 0;
  for (const mil::Feature& feature : features_) total += state_bytes(feature);
  return total;
}

void State::fail_elsewhere(std::string_view device) const {
  fail(ErrorCode::InvalidArgument, "a state of the device '{}' cannot be used on the device '{}'",
       device_, device);
}

uint64_t state_bytes(const mil::Feature& state) {
  const mil::ValueType type = mil::ValueType::tensor(state.data_type, state.shape);
  return mil::packed_size(state.data_type, type.num_elements());
}

}  // namespace pippin::engine
