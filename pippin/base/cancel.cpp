#include "pippin/base/cancel.h"

#include <atomic>

#include "pippin/base/error.h"

namespace pippin {
namespace {
std::atomic<bool> requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);
}  // namespace

void request_cancel() noexcept {
  requested.store(true, std::memory_order_relaxed);
}
void reset_cancel() noexcept {
  requested.store(false, std::memory_order_relaxed);
}
bool cancel_requested() noexcept {
  return requested.load(std::memory_order_relaxed);
}

void check_cancel() {
  if (cancel_requested()) fail(ErrorCode::Cancelled, "cancelled");
}

}  // namespace pippin
