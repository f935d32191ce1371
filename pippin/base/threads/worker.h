// A thread that runs jobs in order in the background. Callers that need a job's result wait for its
// number.
//
// A job works for the call that added it, but may outlive it: it logs and profiles for the call,
// but is not cancelled with it. No job runs while the process forks; a child runs the pending jobs
// itself, and starts a thread when more are added.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>

#include "pippin/base/call_context.h"
#include "pippin/base/threads/fork.h"
#include "pippin/base/threads/thread.h"

namespace pippin {

// Not thread-safe.
// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): never owned as a ForkRest
class Worker final : private ForkRest {
 public:
  Worker() = default;
  ~Worker();  // waits for all jobs

  // Returns the number to wait for; 0 is not a job.
  uint64_t add(std::function<void()> job);
  // Rethrows a job's exception, once.
  void wait(uint64_t number);
  void wait_all() noexcept;  // ignores their exceptions

 private:
  struct Job {
    std::function<void()> body;
    CallContext call;
  };
  void before_fork() noexcept override;
  void after_fork() noexcept override;
  void work() noexcept;
  bool do_next() noexcept;  // false: there was no job
  void finish(uint64_t number) noexcept;
  void wake() noexcept;

  std::mutex running_;  // held by a running job, and while the process forks
  std::mutex mutex_;    // guards jobs_ and error_
  std::deque<Job> jobs_;
  std::exception_ptr error_;
  uint64_t added_ = 0;
  std::atomic<uint64_t> done_{0};
  std::atomic<uint32_t> wakes_{0};
  std::atomic<bool> stop_{false};
  Thread thread_;  // last, because it uses all members above
};

}  // namespace pippin
