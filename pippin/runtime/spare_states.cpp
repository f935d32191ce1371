#include "pippin/runtime/spare_states.h"

#include <new>
#include <utility>

namespace pippin::runtime {

engine::State SpareStates::take(const std::vector<mil::Feature>& features,
                                const engine::ComputeOptions& compute) {
  std::unique_lock lock(lock_);
  if (spares_.empty()) return engine::State(features, compute);
  engine::State state = std::move(spares_.back().state);
  bytes_ -= spares_.back().bytes;
  spares_.pop_back();
  lock.unlock();
  state.reset();
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
