#include "pippin/runtime/spare_states.h"

#include <new>
#include <utility>

#include "pippin/base/error.h"

namespace pippin::runtime {

std::optional<engine::State> SpareStates::take() {
  std::optional<engine::State> state;
  {
    const std::lock_guard lock(lock_);
    if (spares_.empty()) return std::nullopt;
    state = std::move(spares_.back().state);
    bytes_ -= spares_.back().bytes;
    spares_.pop_back();
  }
  state->reset();
  return state;
}

void SpareStates::keep(engine::State&& state) noexcept {
  try {
    const auto bytes = state.bytes_present();
    if (!bytes || *bytes > limit_) return;
    const std::lock_guard lock(lock_);
    if (*bytes > limit_ - bytes_) return;
    spares_.push_back({std::move(state), *bytes});
    bytes_ += *bytes;
  } catch (const std::bad_alloc&) {
    return;  // then it is not kept
  }
}

}  // namespace pippin::runtime
