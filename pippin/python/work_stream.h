// Items that a library thread produces and Python takes one by one.
#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include "pippin/base/threads/thread.h"
#include "pippin/python/background_work.h"
#include "pippin/python/lock.h"

namespace pippin::python {

template <typename T>
class WorkStream {
 public:
  // Produces up to `ahead` items ahead of Python.
  explicit WorkStream(size_t ahead) : ahead_(ahead) {}
  WorkStream(const WorkStream&) = delete;
  WorkStream& operator=(const WorkStream&) = delete;
  ~WorkStream() { close(); }

  BackgroundWork& background() { return background_; }
  // Starts the thread. Throws if there is none; `work` is not called then.
  void start(std::function<void()> work) {
    thread_ = Thread([this, work = std::move(work)] {
      try {
        background_.inside(work);
      } catch (...) {
        error_ = std::current_exception();
      }
      background_.change([this] { has_ended_ = true; });
    });
  }
  // For the work: returns false if the caller has stopped waiting.
  bool give(T item) {
    if (!background_.wait_for_room([this] { return items_.size() < ahead_; })) return false;
    background_.change([&] { items_.push_back(std::move(item)); });
    return true;
  }

  // --- for Python's threads, with the GIL ---

  // Waits for an item; returns nothing at the end. Throws the exceptions of the work, of callbacks
  // and of signal handlers (Ctrl-C), which end the work.
  std::optional<T> next() {
    try {
      background_.wait([this] { return !items_.empty() || has_ended_; });
    } catch (...) {
      close();
      throw;
    }
    std::optional<T> item;
    background_.change([&] {
      if (items_.empty()) return;
      item = std::move(items_.front());
      items_.pop_front();
    });
    if (!item && error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
    return item;
  }
  // Ends the work and waits for its thread.
  void close() {
    background_.stop();
    without_lock([&] { thread_ = {}; });
  }
  bool has_ended() {
    bool has_ended = false;
    background_.change([&] { has_ended = has_ended_; });
    return has_ended;
  }

 private:
  const size_t ahead_;
  BackgroundWork background_;
  std::deque<T> items_;  // this and the members below: guarded by the mutex of background_
  bool has_ended_ = false;
  std::exception_ptr error_;
  Thread thread_;  // destroyed first
};

}  // namespace pippin::python
