// Fork-join for kernels: a call wakes the workers, each of which takes its part. The caller takes
// part 0, then every part that no worker has begun, and waits for the rest. Each worker has a cache
// line with the calls that it began and ended, which the caller reads: no line is written by all
// threads, which would take turns.
//
// A decode step forks and joins hundreds of times, so workers spin and then yield for a moment
// before they sleep, and a fork allocates nothing. Parts are static: part i of n always does the
// same rows, which keeps weights in the cache of the core that used them last (dealt_range.h is for
// data that no cache holds). But if the system does not run a worker, because others use the
// machine, too, the caller does its part instead of waiting. So a busy machine costs the worker's
// help, never a time slice per fork.
//
// A pool with a thread for every core, or with Pinning::Always, pins each worker to one core: a
// busy scheduler would leave threads that wait for each other on the same core permanently.
//
// Workers run in the context of the caller's call (call_context.h). In a child of fork(2), a pool
// restarts its workers on first use.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "pippin/base/call_context.h"
#include "pippin/base/threads/thread.h"

namespace pippin {

// Whether to pin each worker to a core.
enum class Pinning : uint8_t {
  Auto,    // as PIPPIN_PIN says: 1 is Always, 0 Never; by default, pin if the pool has as many
           // threads as the process has cores, so that no core is left to move to
  Always,  // if there are enough cores, even if others use them, too
  Never,
};

// Is told about the calls of a pool that only simulates its threads, for counting what a number of
// threads would do that this machine does not have.
class PoolObserver {
 public:
  virtual void begin_run(int parts) = 0;
  virtual void begin_part(int part) = 0;
  // The current part goes on with a piece of work that any free thread could take (dealt_range.h).
  virtual void begin_piece() = 0;
  virtual void end_run() = 0;

 protected:
  ~PoolObserver() = default;
};

class ThreadPool {
 public:
  // num_threads includes the caller; 0 means default_num_threads().
  explicit ThreadPool(int num_threads = 0, Pinning pinning = Pinning::Auto);
  // Has no workers: the caller takes all parts in order. `observer` must outlive the pool.
  ThreadPool(int num_threads, PoolObserver& observer);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  int num_threads() const { return num_threads_; }

  // Calls body(part, num_parts) once for every part in [0, num_threads()), in parallel as far as
  // threads are free, and returns when all are done. One caller at a time, and not from inside a
  // body. Rethrows the first exception of any part.
  template <typename Body>
  void run(Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    run_erased(
        [](void* context, int part, int parts) { (*static_cast<Plain*>(context))(part, parts); },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

  // Call in a body before a piece of work that went to this part because it was free.
  void begin_piece() {
    if (observer_ != nullptr) observer_->begin_piece();
  }

 private:
  struct alignas(64) Progress {  // of a part: the last generation in which it was
    std::atomic<uint32_t> claimed{0};
    std::atomic<uint32_t> done{0};
  };
  using Function = void (*)(void* context, int part, int parts);
  void run_erased(Function function, void* context);
  void run_observed(Function function, void* context);
  void start_workers();
  void stop_workers() noexcept;
  void start_again() noexcept;
  void work(int part, uint32_t seen);
  Progress& progress_of(int part) { return progress_[static_cast<size_t>(part) - 1]; }
  bool claim(int part, uint32_t generation);
  void leave_callers_cpu(int& cpu, int& meetings);
  void execute(int part) noexcept;
  // Returns the first value for which the condition does not hold.
  template <typename T, typename Condition>
  T wait_while(const std::atomic<T>& value, Condition condition) const;

  int num_threads_;
  PoolObserver* observer_ = nullptr;
  uint32_t process_;  // fork count of the workers' process
  std::vector<Thread> workers_;
  Function function_ = nullptr;
  void* context_ = nullptr;
  const CallContext* call_ = nullptr;
  bool may_spin_ = false;
  std::vector<int> cpus_;           // the caller's, then each worker's; empty: the system chooses
  std::atomic<int> spare_cpu_{-1};  // the caller's previous core, for a worker on whose core it
                                    // runs now
  std::atomic<int> callers_cpu_{-1};
  std::unique_ptr<Progress[]> progress_;  // from part 1 on
  // Workers poll it: on a cache line of its own.
  alignas(64) std::atomic<uint32_t> generation_{0};
  alignas(64) std::atomic<bool> stop_{false};
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
};

// Returns part [begin, end) of `count` items, in multiples of `grain` except at the end.
struct Range {
  int64_t begin;
  int64_t end;
};
inline Range split_range(int64_t count, int part, int parts, int64_t grain = 1) {
  const int64_t blocks = (count + grain - 1) / grain;
  const int64_t begin = blocks * part / parts * grain;
  const int64_t end = blocks * (part + 1) / parts * grain;
  return {begin < count ? begin : count, end < count ? end : count};
}

// Returns the number of cores for this process: its affinity mask and, in a container, its cgroup
// quota.
int default_num_threads();

}  // namespace pippin
