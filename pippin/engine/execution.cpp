// The part of Execution that is the same on every device.
#include <algorithm>

#include "pippin/engine/device_execution.h"

namespace pippin::engine {

std::string Plan::nodes_text() const {
  fail(ErrorCode::Unsupported, "the device of '{}' does not list the plan's nodes", name());
}
std::string Plan::nodes_json() const {
  return nodes_text();
}
std::vector<std::string> Plan::states_outside_recurrences() const {
  std::vector<std::string> names;
  names.reserve(states().size());
  for (const mil::Feature& state : states()) names.push_back(state.name);
  return names;
}

Execution::Execution(std::shared_ptr<const Plan> plan, ThreadPool& pool)
    : plan_(std::move(plan)), device_(plan_->make_execution(pool)), states_(device_->lanes(), 0) {}
Execution::Execution(Execution&&) noexcept = default;
Execution::~Execution() = default;

template <typename Body>
decltype(auto) Execution::ask(Body&& body) const {
  if (failure_) throw *failure_;
  try {
    return body();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Device) failure_ = error;
    throw;
  }
}

const Plan& Execution::plan() const {
  return *plan_;
}

void Execution::reserve_lanes(size_t count) {
  ask([&] { device_->reserve_lanes(count); });
  states_.resize(device_->lanes(), 0);
}

size_t Execution::lanes() const {
  return states_.size();
}

void Execution::bind(const std::vector<std::vector<int64_t>>& shapes, State& state, size_t lane) {
  uint64_t& bound = states_.at(lane);
  bound = 0;
  ask([&] { device_->bind(shapes, state, lane); });
  bound = state.id();
}

MutableByteSpan Execution::input_bytes(size_t index, size_t lane) {
  return ask([&] { return device_->input_bytes(index, lane); });
}

bool Execution::lend_input(size_t index, ByteSpan bytes, size_t lane) {
  return ask([&] { return device_->lend_input(index, bytes, lane); });
}

bool Execution::put_causal_mask(size_t index, int64_t past, size_t lane) {
  return ask([&] { return device_->put_causal_mask(index, past, lane); });
}

std::span<float> Execution::float_input(size_t index, size_t lane) {
  const MutableByteSpan bytes = input_bytes(index, lane);
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

std::span<int32_t> Execution::int_input(size_t index, size_t lane) {
  const MutableByteSpan bytes = input_bytes(index, lane);
  return {reinterpret_cast<int32_t*>(bytes.data()), bytes.size() / sizeof(int32_t)};
}

void Execution::run(size_t lane, std::optional<WantedRows> rows) {
  ask([&] { device_->run(lane, rows); });
}

void Execution::run_cancellable(size_t lane) {
  ask([&] { device_->run_cancellable(lane); });
}

void Execution::run_together(std::span<const size_t> lanes) {
  if (lanes.empty()) return;
  if (lanes.size() == 1) return run(lanes[0]);
  const bool has_states = !plan_->states().empty();
  for (size_t i = 0; i < lanes.size(); ++i) {
    const uint64_t state = states_.at(lanes[i]);
    const auto same = [&](size_t other) {
      return other == lanes[i] || (has_states && states_[other] == state);
    };
    if (std::any_of(lanes.begin(), lanes.begin() + static_cast<std::ptrdiff_t>(i), same)) {
      fail(ErrorCode::InvalidArgument, "lane {} or its state is there twice", lanes[i]);
    }
  }
  ask([&] { device_->run_together(lanes); });
}

std::span<const float> Execution::float_output(size_t index, size_t lane) const {
  const ByteSpan bytes = ask([&] { return device_->output_bytes(index, lane); });
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

std::span<const float> Execution::float_output(size_t index, size_t begin, size_t count,
                                               size_t lane) const {
  const ByteSpan bytes = ask([&] {
    return device_->output_part(index, begin * sizeof(float), count * sizeof(float), lane);
  });
  return {reinterpret_cast<const float*>(bytes.data()), count};
}

std::optional<int32_t> Execution::largest(size_t index, size_t begin, size_t count,
                                          size_t lane) const {
  return ask([&] { return device_->largest(index, begin, count, lane); });
}

std::vector<RankedElement> Execution::largest_ones(size_t index, size_t begin, size_t count,
                                                   size_t lane) const {
  return ask([&] { return device_->largest_ones(index, begin, count, lane); });
}

std::span<const int32_t> Execution::int_output(size_t index, size_t lane) const {
  const ByteSpan bytes = ask([&] { return device_->output_bytes(index, lane); });
  return {reinterpret_cast<const int32_t*>(bytes.data()), bytes.size() / sizeof(int32_t)};
}

std::vector<int64_t> Execution::output_shape(size_t index, size_t lane) const {
  const auto dims = output_dims(index, lane);
  return {dims.begin(), dims.end()};
}

std::span<const int64_t> Execution::output_dims(size_t index, size_t lane) const {
  return ask([&] { return device_->output_shape(index, lane); });
}

}  // namespace pippin::engine
