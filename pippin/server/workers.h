// Worker threads for work that would block the server's own thread: parsing, templates, tokenizing,
// loading models.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "pippin/base/call_context.h"
#include "pippin/base/threads/thread.h"

namespace pippin::server {

class Workers {
 public:
  Workers(size_t threads, size_t max_waiting);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers();  // drops waiting tasks and waits for running ones

  // Returns false if too many tasks wait. `task` must not throw; it logs where the constructor's
  // caller does.
  bool add(std::function<void()> task);

 private:
  void run();

  const size_t max_waiting_;
  CallContext context_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool is_stopped_ = false;
  std::vector<Thread> threads_;
};

}  // namespace pippin::server
