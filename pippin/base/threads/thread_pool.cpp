#include "pippin/base/threads/thread_pool.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "pippin/base/error.h"
#include "pippin/base/platform/cpus.h"
#include "pippin/base/threads/fork.h"
#include "pippin/base/threads/pause.h"

namespace pippin {
namespace {

// A waiting thread first spins, for about 70 us: the gap between two forks of a decode step, and
// the difference between their parts. Then it yields its core with every check, for about 2 ms on a
// free core; on a busy one, other threads run. Then it sleeps; waking up takes too long to help
// with a small part.
constexpr int kSpins = 4000;
constexpr int kYields = 4000;

constexpr int kMeetings = 64;  // forks with the caller on the same core before a worker moves away

bool keeps_to_cpus(Pinning pinning, int count, int available, int cpus) {
  if (const char* wish = std::getenv("PIPPIN_PIN"); wish != nullptr && pinning == Pinning::Auto) {
    if (std::string_view(wish) == "1") pinning = Pinning::Always;
    if (std::string_view(wish) == "0") pinning = Pinning::Never;
  }
  if (pinning == Pinning::Never || count > cpus) return false;
  // With a quota below the number of CPUs, others use the CPUs, too: let the system choose.
  return pinning == Pinning::Always || (cpus == available && count == available);
}

}  // namespace

ThreadPool::ThreadPool(int num_threads, Pinning pinning) : process_(fork_count()) {
  const int available = default_num_threads();
  num_threads_ = num_threads > 0 ? num_threads : available;
  std::vector<int> cpus = allowed_cpus();
  if (keeps_to_cpus(pinning, num_threads_, available, static_cast<int>(cpus.size()))) {
    cpus_ = std::move(cpus);
    spare_cpu_ = cpus_[0];
  }
  // With more threads than cores, a spinning thread only keeps another from working.
  may_spin_ = num_threads_ <= available;
  progress_ = std::make_unique<Progress[]>(static_cast<size_t>(num_threads_) - 1);
  try {
    start_workers();
  } catch (...) {
    stop_workers();
    throw;
  }
}

ThreadPool::ThreadPool(int num_threads, PoolObserver& observer)
    : num_threads_(num_threads), observer_(&observer), process_(fork_count()) {}

ThreadPool::~ThreadPool() {
  stop_workers();
}

void ThreadPool::start_workers() {
  workers_.reserve(static_cast<size_t>(num_threads_) - 1);
  const uint32_t seen = generation_.load(std::memory_order_relaxed);
  for (int part = 1; part < num_threads_; ++part) {
    workers_.emplace_back([this, part, seen] { work(part, seen); });
  }
}

void ThreadPool::stop_workers() noexcept {
  stop_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  workers_.clear();
}

// For a child process, which lacks the parent's workers; their state is inconsistent.
void ThreadPool::start_again() noexcept {
  process_ = fork_count();
  workers_.clear();
  const uint32_t generation = generation_.load(std::memory_order_relaxed);
  for (int part = 1; part < num_threads_; ++part) {
    progress_of(part).claimed.store(generation, std::memory_order_relaxed);
  }
  failed_.store(false, std::memory_order_relaxed);
  try {
    start_workers();
  } catch (const Error&) {
    // The caller does the parts of missing workers.
  }
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
  if (observer_ != nullptr) return run_observed(function, context);
  if (num_threads_ == 1) {
    function(context, 0, 1);
    return;
  }
  if (process_ != fork_count()) start_again();
  if (!cpus_.empty()) callers_cpu_.store(current_cpu(), std::memory_order_relaxed);
  function_ = function;
  context_ = context;
  call_ = &CallContext::current();
  const uint32_t generation = generation_.fetch_add(1, std::memory_order_release) + 1;
  generation_.notify_all();
  execute(0);
  for (int part = 1; part < num_threads(); ++part) {
    if (!claim(part, generation)) continue;
    execute(part);
    progress_of(part).done.store(generation, std::memory_order_relaxed);
  }
  for (int part = 1; part < num_threads(); ++part) {
    wait_while(progress_of(part).done, [=](uint32_t done) { return done != generation; });
  }
  if (failed_.load(std::memory_order_relaxed)) {
    failed_.store(false);
    std::rethrow_exception(std::exchange(error_, nullptr));
  }
}

void ThreadPool::run_observed(Function function, void* context) {
  observer_->begin_run(num_threads_);
  for (int part = 0; part < num_threads_; ++part) {
    observer_->begin_part(part);
    function(context, part, num_threads_);
  }
  observer_->end_run();
}

// Every part is claimed in every generation, so the exchange succeeds only for the first claim. A
// line that the worker has taken is only read.
bool ThreadPool::claim(int part, uint32_t generation) {
  std::atomic<uint32_t>& claimed = progress_of(part).claimed;
  if (claimed.load(std::memory_order_relaxed) == generation) return false;
  uint32_t previous = generation - 1;
  return claimed.compare_exchange_strong(previous, generation, std::memory_order_acq_rel);
}

// The scheduler may move the caller onto a worker's core. After some forks there, the worker moves
// to the core that the caller left.
void ThreadPool::leave_callers_cpu(int& cpu, int& meetings) {
  if (callers_cpu_.load(std::memory_order_relaxed) != cpu) {
    meetings = 0;
  } else if (++meetings == kMeetings) {
    meetings = 0;
    cpu = spare_cpu_.exchange(cpu, std::memory_order_relaxed);
    keep_to_cpu(cpu);
  }
}

void ThreadPool::work(int part, uint32_t seen) {
  int cpu = -1;
  int meetings = 0;
  work_at_once();
  if (!cpus_.empty()) {
    cpu = cpus_[static_cast<size_t>(part)];
    keep_to_cpu(cpu);
  }
  for (;;) {
    // Generations may pass while this thread does not run; the caller does its parts then.
    seen = wait_while(generation_, [seen](uint32_t generation) { return generation == seen; });
    if (stop_.load(std::memory_order_relaxed)) return;
    if (cpu >= 0) leave_callers_cpu(cpu, meetings);
    if (!claim(part, seen)) continue;
    {
      const ContextScope scope(*call_);
      execute(part);
    }
    std::atomic<uint32_t>& done = progress_of(part).done;
    done.store(seen, std::memory_order_release);
    done.notify_one();
  }
}

int default_num_threads() {
  return usable_cpus();
}

}  // namespace pippin
