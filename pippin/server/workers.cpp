#include "pippin/server/workers.h"

#include <utility>

namespace pippin::server {

Workers::Workers(size_t threads, size_t max_waiting) : max_waiting_(max_waiting) {
  context_.logger = CallContext::current().logger;
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

Workers::~Workers() {
  std::deque<std::function<void()>> dropped;
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  dropped.swap(tasks_);
  wake_.notify_all();
}

bool Workers::add(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  if (is_stopped_ || tasks_.size() >= max_waiting_) return false;
  tasks_.push_back(std::move(task));
  wake_.notify_one();
  return true;
}

void Workers::run() {
  const ContextScope scope(context_);
  for (;;) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return is_stopped_ || !tasks_.empty(); });
      if (is_stopped_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace pippin::server
