#include "pippin/base/thread_pool.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#if defined(__linux__)
#include <sched.h>
#endif

namespace pippin {
namespace {

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// A waiting thread first spins: about 5 us, the gap between two kernels of a decode step. Then it
// offers its core with every look, which costs little on a free core, and on a busy one lets the
// thread run that it waits for (two of them may well share a core). Then it sleeps.
constexpr int kSpins = 200;
constexpr int kYields = 100;

}  // namespace

ThreadPool::ThreadPool(int num_threads) {
  const int available = default_num_threads();
  const int count = num_threads > 0 ? num_threads : available;
  // With more threads than cores a spinning thread only keeps another from working.
  may_spin_ = count <= available;
  claims_ = std::make_unique<Claim[]>(static_cast<size_t>(count) - 1);
  workers_.reserve(static_cast<size_t>(count) - 1);
  for (int part = 1; part < count; ++part) workers_.emplace_back([this, part] { work(part); });
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (auto& worker : workers_) worker.join();
}

template <typename T, typename Condition>
T ThreadPool::wait_while(const std::atomic<T>& value, Condition condition) const {
  for (int looks = 0;; ++looks) {
    const T now = value.load(std::memory_order_acquire);
    if (!condition(now)) return now;
    if (may_spin_ && looks < kSpins) {
      pause_briefly();
    } else if (may_spin_ && looks < kSpins + kYields) {
      std::this_thread::yield();
    } else {
      value.wait(now, std::memory_order_acquire);
    }
  }
}

void ThreadPool::execute(int part) noexcept {
  try {
    function_(context_, part, num_threads());
  } catch (...) {
    if (!failed_.exchange(true)) error_ = std::current_exception();
  }
}

void ThreadPool::run_erased(Function function, void* context) {
  if (workers_.empty()) {
    function(context, 0, 1);
    return;
  }
  function_ = function;
  context_ = context;
  pending_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  const uint32_t generation = generation_.fetch_add(1, std::memory_order_release) + 1;
  generation_.notify_all();
  execute(0);
  for (int part = 1; part < num_threads(); ++part) {
    if (!claim(part, generation)) continue;
    execute(part);
    pending_.fetch_sub(1, std::memory_order_acq_rel);
  }
  wait_while(pending_, [](int pending) { return pending != 0; });
  if (failed_.load(std::memory_order_acquire)) {
    failed_.store(false);
    std::rethrow_exception(std::exchange(error_, nullptr));
  }
}

// Every part is claimed in every generation, so only one who is in time finds the one before.
bool ThreadPool::claim(int part, uint32_t generation) {
  uint32_t previous = generation - 1;
  return claims_[static_cast<size_t>(part) - 1].generation.compare_exchange_strong(
      previous, generation, std::memory_order_acq_rel);
}

void ThreadPool::work(int part) {
  uint32_t seen = 0;
  for (;;) {
    // Generations may pass while this thread does not run: the caller does its parts then.
    seen = wait_while(generation_, [seen](uint32_t generation) { return generation == seen; });
    if (stop_.load(std::memory_order_relaxed)) return;
    if (!claim(part, seen)) continue;
    execute(part);
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) pending_.notify_one();
  }
}

int default_num_threads() {
  int count = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
#if defined(__linux__)
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) count = std::min(count, CPU_COUNT(&set));
  // cgroup v2: "max 100000" or "150000 100000" (quota and period in microseconds).
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (file >> quota >> period && quota != "max" && period > 0) {
    count = std::min(count, static_cast<int>(std::ceil(std::stod(quota) / period)));
  }
#endif
  return std::max(1, count);
}

}  // namespace pippin
