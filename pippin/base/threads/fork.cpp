#include "pippin/base/threads/fork.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <semaphore>
#include <utility>
#include <vector>

#include <pthread.h>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"

namespace pippin {
namespace {

std::atomic<uint32_t> forks{0};

}  // namespace

uint32_t fork_count() noexcept {
  return forks.load(std::memory_order_relaxed);
}

uint32_t ForkMutex::held() noexcept {
  return fork_count() + 1;
}

bool ForkMutex::take(uint32_t seen) noexcept {
  if (!state_.compare_exchange_weak(seen, held(), std::memory_order_acquire)) return false;
  abandoned_ = abandoned_ || seen != 0;
  return true;
}

void ForkMutex::lock() noexcept {
  for (;;) {
    const uint32_t seen = state_.load(std::memory_order_relaxed);
    if (seen == held()) {
      state_.wait(seen, std::memory_order_relaxed);
    } else if (take(seen)) {
      return;
    }
  }
}

bool ForkMutex::try_lock() noexcept {
  for (;;) {
    const uint32_t seen = state_.load(std::memory_order_relaxed);
    if (seen == held()) return false;
    if (take(seen)) return true;
  }
}

void ForkMutex::unlock() noexcept {
  state_.store(0, std::memory_order_release);
  state_.notify_one();
}

bool ForkMutex::take_abandoned() noexcept {
  return std::exchange(abandoned_, false);
}

// A waiting thread, on that thread's stack.
struct TurnLock::Waiter {
  std::binary_semaphore turn{0};
  Waiter* next = nullptr;
};

// A child has neither the threads that wait in its parent nor the thread that held the lock.
void TurnLock::forget_parent() noexcept {
  if (process_ == fork_count()) return;
  process_ = fork_count();
  is_taken_ = false;
  first_ = last_ = nullptr;
}

// Returns whether the lock was free; otherwise adds `waiter` to the queue.
bool TurnLock::take_or_wait(Waiter& waiter) noexcept {
  const std::lock_guard lock(mutex_);
  forget_parent();
  if (!is_taken_) {
    is_taken_ = true;
    return true;
  }
  (first_ == nullptr ? first_ : last_->next) = &waiter;
  last_ = &waiter;
  return false;
}

// Returns whether `waiter` was still waiting.
bool TurnLock::leave(const Waiter& waiter) noexcept {
  const std::lock_guard lock(mutex_);
  Waiter* before = nullptr;
  for (Waiter* one = first_; one != nullptr; before = one, one = one->next) {
    if (one != &waiter) continue;
    (before == nullptr ? first_ : before->next) = one->next;
    if (last_ == one) last_ = before;
    return true;
  }
  return false;
}

void TurnLock::lock() noexcept {
  Waiter waiter;
  if (take_or_wait(waiter)) return;
  waiter.turn.acquire();
  const std::lock_guard lock(mutex_);  // wait until the thread that passed the lock has finished
                                       // with `waiter`
}

void TurnLock::lock_unless_cancelled() {
  constexpr std::chrono::milliseconds kPoll{10};
  if (CallContext::current().cancel == nullptr) return lock();
  Waiter waiter;
  if (take_or_wait(waiter)) return;
  while (!waiter.turn.try_acquire_for(kPoll)) {
    if (cancel_requested() && leave(waiter)) fail(ErrorCode::Cancelled, "cancelled");
  }
  const std::lock_guard lock(mutex_);  // wait until the thread that passed the lock has finished
                                       // with `waiter`
}

void TurnLock::unlock() noexcept {
  const std::lock_guard lock(mutex_);
  forget_parent();
  if (first_ == nullptr) {
    is_taken_ = false;
    return;
  }
  Waiter* const next = first_;
  first_ = next->next;
  next->turn.release();
}

// All ForkRest objects. The forking thread holds the lock from before a fork until after it.
class ForkHandlers {
 public:
  static ForkHandlers& get() {
    static auto* handlers = new ForkHandlers;  // never destroyed: threads may fork after static
                                               // objects are gone
    return *handlers;
  }
  void add(ForkRest* rest) {
    const std::lock_guard lock(mutex_);
    rests_.push_back(rest);
  }
  void remove(ForkRest* rest) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase(rests_, rest);
  }
  static void prepare() {
    ForkHandlers& all = get();
    all.mutex_.lock();
    for (ForkRest* rest : all.rests_) rest->before_fork();
  }
  static void in_parent() {
    ForkHandlers& all = get();
    for (ForkRest* rest : all.rests_) rest->after_fork();
    all.mutex_.unlock();
  }
  static void in_child() {
    forks.fetch_add(1, std::memory_order_relaxed);
    in_parent();
  }

 private:
  std::mutex mutex_;
  std::vector<ForkRest*> rests_;
};

namespace {

[[maybe_unused]] const int registered =
    ::pthread_atfork(ForkHandlers::prepare, ForkHandlers::in_parent, ForkHandlers::in_child);

}  // namespace

ForkRest::ForkRest() {
  ForkHandlers::get().add(this);
}

ForkRest::~ForkRest() {
  leave_forks();
}

void ForkRest::leave_forks() noexcept {
  ForkHandlers::get().remove(this);
}

}  // namespace pippin
