// A thread that does jobs in order while its owner goes on; callers that need a job's result wait
// for its number.
//
// A job works for the call that added it, but may outlive it: its log lines and its profile are the
// call's, and it is not cancelled with it. No job is on its way while the process forks; a child
// does what was waiting then, and starts a thread when there is more.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>

#include "pippin/base/call_context.h"
#include "pippin/base/fork.h"
#include "pippin/base/thread.h"

namespace pippin {

// One thread at a time may use it.
// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): nobody owns it as a ForkRest
class Worker final : private ForkRest {
 public:
  Worker() = default;
  ~Worker();  // when all jobs are done

  // Gives the number to wait for; 0 is no job.
  uint64_t add(std::function<void()> job);
  // Rethrows what a job threw, once.
  void wait(uint64_t number);
  void wait_all() noexcept;  // and forgets what they threw

 private:
  struct Job {
    std::function<void()> body;
    CallContext call;
  };
  void before_fork() noexcept override;
  void after_fork() noexcept override;
  void work() noexcept;
  bool do_next() noexcept;  // false: there is none
  void finish(uint64_t number) noexcept;
  void wake() noexcept;

  std::mutex running_;  // held by a job that runs, and while the process forks
  std::mutex mutex_;    // of jobs_ and error_
  std::deque<Job> jobs_;
  std::exception_ptr error_;
  uint64_t added_ = 0;
  std::atomic<uint64_t> done_{0};
  std::atomic<uint32_t> wakes_{0};
  std::atomic<bool> stop_{false};
  Thread thread_;  // last: it uses all of the above
};

}  // namespace pippin
