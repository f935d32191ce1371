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

// About 20 us at a pause of 10 ns: longer than the gap between two kernels of a decode step.
constexpr int kSpins = 2000;

}  // namespace

ThreadPool::ThreadPool(int num_threads) {
  const int available = default_num_threads();
  const int count = num_threads > 0 ? num_threads : available;
  // With more threads than cores a spinning thread only keeps another from working.
  spin_limit_ = count > available ? 0 : kSpins;
  workers_.reserve(static_cast<size_t>(count) - 1);
  for (int part = 1; part < count; ++part) workers_.emplace_back([this, part] { work(part); });
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (auto& worker : workers_) worker.join();
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
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  execute(0);
  for (int spins = 0;; ++spins) {
    const int pending = pending_.load(std::memory_order_acquire);
    if (pending == 0) break;
    if (spins < spin_limit_) {
      pause_briefly();
    } else {
      pending_.wait(pending, std::memory_order_acquire);
    }
  }
  if (failed_.load(std::memory_order_acquire)) {
    failed_.store(false);
    std::rethrow_exception(std::exchange(error_, nullptr));
  }
}

void ThreadPool::work(int part) {
  uint32_t seen = 0;
  for (;;) {
    for (int spins = 0; generation_.load(std::memory_order_acquire) == seen; ++spins) {
      if (spins < spin_limit_) {
        pause_briefly();
      } else {
        generation_.wait(seen, std::memory_order_acquire);
      }
    }
    // The caller waits for this part before it starts the next generation, so none is missed.
    seen = generation_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_relaxed)) return;
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
