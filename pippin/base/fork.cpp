#include "pippin/base/fork.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include <pthread.h>

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

void TurnLock::lock() noexcept {
  uint32_t mine = 0;
  {
    const std::lock_guard lock(mutex_);
    if (process_ != fork_count()) {
      process_ = fork_count();
      next_ = 0;
      turn_.store(0, std::memory_order_relaxed);
    }
    mine = next_++;
  }
  for (uint32_t turn = turn_.load(std::memory_order_acquire); turn != mine;
       turn = turn_.load(std::memory_order_acquire)) {
    turn_.wait(turn, std::memory_order_acquire);
  }
}

void TurnLock::unlock() noexcept {
  turn_.fetch_add(1, std::memory_order_release);
  turn_.notify_all();
}

// All that come to rest. The lock is held from before a fork until after it, in the thread that
// forks.
class ForkHandlers {
 public:
  static ForkHandlers& get() {
    static auto* handlers = new ForkHandlers;  // threads may fork when static objects are gone
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
