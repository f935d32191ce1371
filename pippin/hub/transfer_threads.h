// The threads of a download or an upload. Each has a connection and takes jobs until none is left;
// the first failure ends all of them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <type_traits>

#include "pippin/base/threads/cancel.h"
#include "pippin/hub/connection.h"

namespace pippin::hub {

class TransferThreads {
 public:
  static constexpr std::chrono::milliseconds kPollInterval{100};

  TransferThreads(const Settings& settings, std::atomic<bool>& reached)
      : settings_(settings), reached_(reached) {}

  // find(is_done) gives an optional job, with mutex() locked. Without a job it is asked again
  // later, unless it has set is_done. process(connection, job, thread) has the thread's number.
  // Rethrows the first failure; throws Cancelled.
  template <typename Find, typename Process>
  void run(int count, const Find& find, const Process& process) {
    run_threads(count, [&](Connection& connection, size_t thread) {
      for (auto job = next(find); job; job = next(find)) {
        process(connection, *job, thread);
        changed_.notify_all();
      }
    });
  }

  std::mutex& mutex() { return mutex_; }
  // Set after a failure.
  const std::atomic<bool>& stop() const { return stop_; }

 private:
  void run_threads(int count, const std::function<void(Connection&, size_t)>& work);
  void remember(std::exception_ptr failure);

  template <typename Find>
  std::invoke_result_t<const Find&, bool&> next(const Find& find) {
    std::unique_lock lock(mutex_);
    while (!stop_) {
      check_cancel();
      bool is_done = false;
      auto job = find(is_done);
      if (job || is_done) return job;
      changed_.wait_for(lock, kPollInterval);
    }
    return std::nullopt;
  }

  const Settings& settings_;
  std::atomic<bool>& reached_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr failure_;
  std::atomic<bool> stop_ = false;
};

}  // namespace pippin::hub
