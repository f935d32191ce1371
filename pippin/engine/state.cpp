#include "pippin/engine/state.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "pippin/base/error.h"
#include "pippin/base/numbers/checked.h"
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

StateRows all_rows(uint64_t bytes) {
  return {.row_bytes = bytes, .count = 1};
}

}  // namespace

void read_rows(const std::byte* array, const StateRows& rows, std::byte* to, uint64_t stride) {
  if (rows.size() == 0) return;
  for (uint64_t group = 0; group < rows.groups; ++group) {
    const uint64_t row = group * rows.rows + rows.first;
    std::memcpy(to + group * stride, array + row * rows.row_bytes, rows.group_bytes());
  }
}

void write_rows(std::byte* array, const StateRows& rows, const std::byte* from, uint64_t stride) {
  if (rows.size() == 0) return;
  for (uint64_t group = 0; group < rows.groups; ++group) {
    const uint64_t row = group * rows.rows + rows.first;
    std::memcpy(array + row * rows.row_bytes, from + group * stride, rows.group_bytes());
  }
}

void StateMemory::copy_rows(size_t index, const StateRows& rows, const StateMemory& from) {
  std::vector<std::byte> bytes(rows.size());
  from.read_rows(index, rows, bytes.data(), rows.group_bytes());
  write_rows(index, rows, bytes.data(), rows.group_bytes());
}

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

void State::share(size_t index, const State& from) {
  if (from.device_ != device_) from.fail_elsewhere(device_);
  const StateRows all = all_rows(state_bytes(features_.at(index)));
  from.check(index, all);
  if (!memory_->share(index, *from.memory_)) memory_->copy_rows(index, all, *from.memory_);
  id_ = next_id();  // its address changed
}

void State::reset() {
  memory_->reset();
  if (!features_.empty()) id_ = next_id();  // addresses may have changed
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

std::vector<std::byte> State::read(std::string_view name) const {
  const size_t index = at(name);
  std::vector<std::byte> bytes(state_bytes(features_[index]));
  memory_->read_rows(index, all_rows(bytes.size()), bytes.data(), bytes.size());
  return bytes;
}

void State::write(std::string_view name, ByteSpan bytes) {
  const size_t index = at(name);
  if (bytes.size() != state_bytes(features_[index])) {
    fail(ErrorCode::InvalidArgument, "{} bytes for state '{}', which has {}", bytes.size(), name,
         state_bytes(features_[index]));
  }
  memory_->write_rows(index, all_rows(bytes.size()), bytes.data(), bytes.size());
}

void State::check(size_t index, const StateRows& rows) const {
  const mil::Feature& state = features_.at(index);
  const auto all = checked_mul(rows.groups, rows.rows);
  const auto size = all ? checked_mul(*all, rows.row_bytes) : std::nullopt;
  if (size != state_bytes(state) || rows.first > rows.rows || rows.count > rows.rows - rows.first) {
    fail(ErrorCode::InvalidArgument,
         "rows [{}, {}) of {} in {} groups, of {} bytes each: state '{}' has {} bytes", rows.first,
         rows.first + rows.count, rows.rows, rows.groups, rows.row_bytes, state.name,
         state_bytes(state));
  }
}

void State::read_rows(size_t index, const StateRows& rows, std::byte* to, uint64_t stride) const {
  check(index, rows);
  memory_->read_rows(index, rows, to, stride);
}

void State::write_rows(size_t index, const StateRows& rows, const std::byte* from,
                       uint64_t stride) {
  check(index, rows);
  memory_->write_rows(index, rows, from, stride);
}

void State::copy_rows(size_t index, const StateRows& rows, const State& from) {
  if (from.device_ != device_) from.fail_elsewhere(device_);
  check(index, rows);
  from.check(index, rows);
  memory_->copy_rows(index, rows, *from.memory_);
}

MutableByteSpan State::here(std::string_view name) const {
  return memory_->here(at(name));
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
