// Work of the library on a thread of its own, while the thread of Python that asked for it waits:
// it looks at signals, writes log lines to Python's logging, and runs what the work asks of Python.
//
//   run_work([&](Errands& errands) {
//     convert(..., [&](uint64_t done, uint64_t total) { errands.ask([&] { progress(done, total); }); });
//   });
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "pippin/base/cancel.h"
#include "pippin/base/log.h"

namespace pippin::python {

class Errands {
 public:
  // Needs the lock: which lines Python's logger "pippin" wants is read here.
  Errands();
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  // --- for the work's threads ---

  // Calls `work` with this work's token of cancellation and its log.
  void inside(const std::function<void()>& work);
  // Has `errand` run by the thread that waits, with the lock, and returns when that is done. Throws
  // Cancelled where it raised something, which wait() throws, or where nobody will wait any more.
  void ask(const std::function<void()>& errand);
  // Changes what a wait is for.
  void change(const std::function<void()>& change);
  // Waits until it is as wanted, or nobody waits any more: false.
  bool wait_for_room(const std::function<bool()>& has_room);

  // --- for Python's threads, with the lock ---

  // Returns when `is_ready`, which is asked while nothing changes. Throws what errands and signal
  // handlers raise.
  void wait(const std::function<bool()>& is_ready);
  // Cancels the work: nobody will wait any more. Needs no lock.
  void stop();

 private:
  using Line = std::pair<LogLevel, std::string>;

  void run(const std::function<void()>& errand);

  CancelToken cancel_;
  const LogLevel level_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  const std::function<void()>* errand_ = nullptr;
  bool is_running_ = false, has_raised_ = false, is_stopped_ = false;
  std::deque<Line> lines_;
};

// Does the work while this thread of Python waits; needs the lock. Throws what the work throws, and
// as Errands::wait(); then, too, the work has ended.
void run_work(const std::function<void(Errands& errands)>& work);
// The same, with something that comes first and needs the lock.
void run_work(const std::function<void(Errands& errands)>& prepare,
              const std::function<void(Errands& errands)>& work);

}  // namespace pippin::python
