#include "pippin/coreml/state.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/coreml/strided.h"

namespace pippin::coreml {
namespace {

// Calls `use` with the state's elements if they match the declaration.
template <typename Use>
void with_elements(CoreState& state, const mil::Feature& feature, Use&& use) {
  bool fits = false;
  const ErrorText error_text = state.access(feature.name, [&](const Elements& elements) {
    fits = elements.type == feature.data_type && elements.shape == feature.shape;
    if (fits) use(elements);
  });
  if (!error_text.empty()) fail(ErrorCode::Device, "state '{}': {}", feature.name, error_text);
  if (!fits) fail(ErrorCode::Device, "state '{}' is not what the package says", feature.name);
}

}  // namespace

CoreStateMemory::CoreStateMemory(const std::vector<mil::Feature>& states)
    : features_(states), waiting_(states.size()) {}

void CoreStateMemory::reset() {
  shared_.clear();  // new objects hold zeros
  for (auto& bytes : waiting_) bytes.clear();
}

CoreStateMemory::Shared* CoreStateMemory::find(const std::string& name) const {
  const auto found = std::find_if(shared_.begin(), shared_.end(),
                                  [&](const Shared& one) { return one.names.contains(name); });
  return found == shared_.end() ? nullptr : &*found;
}

void CoreStateMemory::read_rows(size_t index, const engine::StateRows& rows, std::byte* to,
                                uint64_t stride) const {
  const mil::Feature& feature = features_.at(index);
  if (Shared* const shared = find(feature.name)) {
    with_elements(*shared->state, feature,
                  [&](const Elements& elements) { pack_rows(elements, rows, to, stride); });
  } else if (!waiting_[index].empty()) {
    engine::read_rows(waiting_[index].data(), rows, to, stride);
  } else {
    for (uint64_t group = 0; group < rows.groups; ++group) {
      std::fill_n(to + group * stride, rows.group_bytes(), std::byte{0});
    }
  }
}

void CoreStateMemory::write_rows(size_t index, const engine::StateRows& rows, const std::byte* from,
                                 uint64_t stride) {
  const mil::Feature& feature = features_.at(index);
  if (Shared* const shared = find(feature.name)) {
    with_elements(*shared->state, feature,
                  [&](const Elements& elements) { unpack_rows(from, rows, stride, elements); });
    return;
  }
  waiting_[index].resize(engine::state_bytes(feature));
  engine::write_rows(waiting_[index].data(), rows, from, stride);
}

std::unique_ptr<engine::StateMemory> CoreStateMemory::clone() const {
  auto copy = std::make_unique<CoreStateMemory>(features_);
  copy->waiting_ = waiting_;
  for (size_t i = 0; i < features_.size(); ++i) {
    Shared* const shared = find(features_[i].name);
    if (shared == nullptr) continue;
    copy->waiting_[i].resize(engine::state_bytes(features_[i]));
    with_elements(*shared->state, features_[i],
                  [&](const Elements& elements) { pack(elements, copy->waiting_[i].data()); });
  }
  return copy;
}

CoreState& CoreStateMemory::for_run(CoreModel& model, const std::vector<mil::Feature>& wanted) {
  Shared* shared = nullptr;
  for (const mil::Feature& feature : wanted) {
    const auto own = std::find_if(features_.begin(), features_.end(),
                                  [&](const auto& one) { return one.name == feature.name; });
    if (own == features_.end()) {
      fail(ErrorCode::InvalidArgument, "unknown state '{}'", feature.name);
    }
    if (own->shape != feature.shape || own->data_type != feature.data_type) {
      fail(ErrorCode::InvalidArgument, "state '{}' has {} bytes, the function needs {}",
           feature.name, engine::state_bytes(*own), engine::state_bytes(feature));
    }
    Shared* const one = find(feature.name);
    if (&feature != &wanted.front() && one != shared) {
      fail(ErrorCode::Unsupported,
           "state '{}' is shared by functions that do not share their other states, which Core ML "
           "cannot do",
           feature.name);
    }
    shared = one;
  }
  if (shared == nullptr) {
    Shared made;
    for (const mil::Feature& feature : wanted) made.names.insert(feature.name);
    const ErrorText error_text = model.new_state(made.state);
    if (!error_text.empty()) fail(ErrorCode::Device, "Core ML makes no state: {}", error_text);
    shared_.push_back(std::move(made));
    shared = &shared_.back();
  }
  for (size_t i = 0; i < features_.size(); ++i) {
    if (!shared->names.contains(features_[i].name)) continue;
    std::vector<std::byte>& bytes = waiting_[i];
    if (bytes.empty()) continue;
    with_elements(*shared->state, features_[i],
                  [&](const Elements& elements) { unpack(bytes.data(), elements); });
    bytes = {};
  }
  return *shared->state;
}

}  // namespace pippin::coreml
