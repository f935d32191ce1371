// Fork-join for kernels: one call wakes the workers, each takes its part, the caller takes part 0,
// then whatever no worker has begun, and waits for the rest.
//
// A decode step forks and joins hundreds of times, so workers spin and then yield for a moment
// before they sleep, and a fork allocates nothing. Parts are static: part i of n always does the
// same rows, which keeps weights in the cache of the core that used them last (dealt_range.h is for
// what no cache holds); but a worker that the system has not let run, on a machine that others use
// too, is not waited for: its part is done by the caller. So a busy machine costs the worker's
// help, never a time slice per fork.
//
// A pool with a thread for every core, or where it is asked for (Pinning), keeps each worker to
// one core: a busy scheduler leaves threads that wait for each other on the same core for good.
//
// Workers work for the caller's call (call_context.h). In a child of fork(2) a pool starts its
// workers again when it is used there.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "pippin/base/call_context.h"
#include "pippin/base/thread.h"

namespace pippin {

// Whether a pool's workers keep to one core each.
enum class Pinning : uint8_t {
  Auto,    // as the environment's PIPPIN_PIN says: 1 is Always, 0 Never; without it where the pool
           // has as many threads as the process has cores: no core is left to move to
  Always,  // where there are cores enough, even if others use them too
  Never,
};

class ThreadPool {
 public:
  // num_threads counts the caller; 0 means default_num_threads().
  explicit ThreadPool(int num_threads = 0, Pinning pinning = Pinning::Auto);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  int num_threads() const { return num_threads_; }

  // Calls body(part, num_parts) once for every part in [0, num_threads()), at the same time as far
  // as threads are free; returns when all are done. One caller at a time, and not from inside a
  // body. The first exception of any part is rethrown.
  template <typename Body>
  void run(Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    run_erased(
        [](void* context, int part, int parts) { (*static_cast<Plain*>(context))(part, parts); },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  using Function = void (*)(void* context, int part, int parts);
  void run_erased(Function function, void* context);
  void start_workers();
  void stop_workers() noexcept;
  void start_again() noexcept;
  void work(int part, uint32_t seen);
  bool claim(int part, uint32_t generation);
  void leave_callers_cpu(int& cpu, int& meetings);
  void execute(int part) noexcept;
  // Returns the first value for which the condition does not hold.
  template <typename T, typename Condition>
  T wait_while(const std::atomic<T>& value, Condition condition) const;

  int num_threads_;
  uint32_t process_;  // where the workers are, by its fork count
  std::vector<Thread> workers_;
  Function function_ = nullptr;
  void* context_ = nullptr;
  const CallContext* call_ = nullptr;
  bool may_spin_ = false;
  std::vector<int> cpus_;  // the caller's first, then each worker's; empty: the system chooses
  std::atomic<int> spare_cpu_{-1};  // where the caller was; for the worker it comes to sit upon
  std::atomic<int> callers_cpu_{-1};
  struct alignas(64) Claim {
    std::atomic<uint32_t> generation{0};  // the last one in which somebody took the part
  };
  std::unique_ptr<Claim[]> claims_;  // of part 1 on
  // Each its own cache line: the workers poll generation_ while others count pending_ down.
  alignas(64) std::atomic<uint32_t> generation_{0};
  alignas(64) std::atomic<int> pending_{0};
  alignas(64) std::atomic<bool> stop_{false};
  std::atomic<bool> failed_{false};
  std::exception_ptr error_;
};

// The part [begin, end) of `count` items, in multiples of `grain` except at the end.
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

// The cores this process may use: its affinity and, in a container, its cgroup's quota.
int default_num_threads();

}  // namespace pippin
