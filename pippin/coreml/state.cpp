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
    : features_(states), mirrors_(states.size()) {}

void CoreStateMemory::reset() {
  shared_.clear();  // new objects hold zeros
  for (Mirror& mirror : mirrors_) mirror = {};
}

CoreStateMemory::Shared* CoreStateMemory::find(const std::string& name) const {
  const auto found = std::find_if(shared_.begin(), shared_.end(),
                                  [&](const Shared& one) { return one.names.contains(name); });
  return found == shared_.end() ? nullptr : &*found;
}

CoreStateMemory::Mirror& CoreStateMemory::mirror(size_t index) const {
  Mirror& mirror = mirrors_.at(index);
  if (mirror.is_known) return mirror;
  const mil::Feature& feature = features_[index];
  mirror.bytes.assign(engine::state_bytes(feature), std::byte{0});
  if (Shared* const shared = find(feature.name)) {
    with_elements(*shared->state, feature,
                  [&](const Elements& elements) { pack(elements, mirror.bytes.data()); });
  }
  mirror.is_known = true;
  return mirror;
}

ByteSpan CoreStateMemory::bytes(size_t index) const {
  return mirror(index).bytes;
}

MutableByteSpan CoreStateMemory::bytes(size_t index) {
  Mirror& own = mirror(index);
  own.is_written = true;
  return own.bytes;
}

std::unique_ptr<engine::StateMemory> CoreStateMemory::clone() const {
  auto copy = std::make_unique<CoreStateMemory>(features_);
  for (size_t i = 0; i < features_.size(); ++i) {
    // Arrays that were neither used in a run nor written are zeros, as in a new state.
    if (!mirrors_[i].is_known && find(features_[i].name) == nullptr) continue;
    copy->mirrors_[i].bytes = mirror(i).bytes;
    copy->mirrors_[i].is_known = copy->mirrors_[i].is_written = true;
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
    Mirror& mirror = mirrors_[i];
    if (mirror.is_written) {
      with_elements(*shared->state, features_[i],
                    [&](const Elements& elements) { unpack(mirror.bytes.data(), elements); });
    }
    mirror = {};
  }
  return *shared->state;
}

}  // namespace pippin::coreml
