// Runs the library's work on a separate thread. Meanwhile the calling Python thread checks for
// signals, passes log lines to Python's logging, and runs Python code on behalf of the work.
//
//   run_work([&](BackgroundWork& background) {
//     convert(..., [&](uint64_t done, uint64_t total) { background.call_python([&] { progress(done, total); }); });
//   });
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "pippin/base/log.h"
#include "pippin/base/threads/cancel.h"

namespace pippin::python {

class BackgroundWork {
 public:
  // Needs the GIL: reads the level of Python's logger "pippin".
  BackgroundWork();
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;

  // --- for the work's threads ---

  // Calls `work` with this work's cancel token and log.
  void inside(const std::function<void()>& work);
  // Runs `callback` on the waiting thread, with the GIL, and returns when it is done. Throws
  // Cancelled if the callback raised an exception, which wait() rethrows, or if the caller has
  // stopped waiting.
  void call_python(const std::function<void()>& callback);
  // Changes the state that wait() checks.
  void change(const std::function<void()>& change);
  // Waits until `has_room`; returns false if the caller has stopped waiting.
  bool wait_for_room(const std::function<bool()>& has_room);

  // --- for Python's threads, with the GIL ---

  // Returns when `is_ready`, which is called while the state does not change. Throws the exceptions
  // of callbacks and signal handlers.
  void wait(const std::function<bool()>& is_ready);
  // Cancels the work: the caller stops waiting. Does not need the GIL.
  void stop();

 private:
  using Line = std::pair<LogLevel, std::string>;

  void run(const std::function<void()>& callback);

  CancelToken cancel_;
  const LogLevel level_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  const std::function<void()>* callback_ = nullptr;
  bool is_running_ = false, has_raised_ = false, is_stopped_ = false;
  std::deque<Line> lines_;
};

// Runs the work while this Python thread waits; needs the GIL. Throws the exceptions of the work
// and of BackgroundWork::wait(). The work has ended in any case.
void run_work(const std::function<void(BackgroundWork& background)>& work);
// The same, after preparations that need the GIL.
void run_work(const std::function<void(BackgroundWork& background)>& prepare,
              const std::function<void(BackgroundWork& background)>& work);

}  // namespace pippin::python
