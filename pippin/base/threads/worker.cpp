#include "pippin/base/threads/worker.h"

#include <utility>

#include "pippin/base/error.h"

namespace pippin {

Worker::~Worker() {
  leave_forks();
  stop_.store(true);
  wake();
}

void Worker::wake() noexcept {
  wakes_.fetch_add(1);
  wakes_.notify_one();
}

uint64_t Worker::add(std::function<void()> job) {
  CallContext call = CallContext::current();
  call.cancel = nullptr;
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({std::move(job), std::move(call)});
  }
  ++added_;
  if (thread_.is_here()) {
    wake();
    return added_;
  }
  try {
    thread_ = Thread([this] { work(); });
  } catch (const Error&) {
    // The waiting thread does the jobs.
  }
  return added_;
}

void Worker::wait(uint64_t number) {
  finish(number);
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Worker::wait_all() noexcept {
  finish(added_);
  const std::lock_guard lock(mutex_);
  error_ = nullptr;
}

void Worker::finish(uint64_t number) noexcept {
  for (uint64_t done = done_.load(); done < number; done = done_.load()) {
    if (thread_.is_here()) {
      done_.wait(done);
    } else {
      do_next();
    }
  }
}

void Worker::work() noexcept {
  for (;;) {
    const uint32_t seen = wakes_.load();
    if (do_next()) continue;
    if (stop_.load()) return;
    wakes_.wait(seen);
  }
}

bool Worker::do_next() noexcept {
  const std::lock_guard running(running_);
  Job job;
  {
    const std::lock_guard lock(mutex_);
    if (jobs_.empty()) return false;
    job = std::move(jobs_.front());
    jobs_.pop_front();
  }
  try {
    const ContextScope scope(job.call);
    job.body();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    error_ = std::current_exception();
  }
  done_.fetch_add(1);
  done_.notify_all();
  return true;
}

void Worker::before_fork() noexcept {
  running_.lock();
  mutex_.lock();
}

void Worker::after_fork() noexcept {
  mutex_.unlock();
  running_.unlock();
}

}  // namespace pippin
