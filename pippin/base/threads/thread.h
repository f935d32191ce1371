// A thread that the destructor joins, unlike std::thread. In a child of fork(2), where the thread
// does not exist, the object can still be destroyed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <pthread.h>

namespace pippin {

class Thread {
 public:
  Thread() = default;
  // Throws LimitExceeded if the system cannot start another thread. An exception from `body` ends
  // the process.
  explicit Thread(std::function<void()> body);
  Thread(Thread&& other) noexcept;
  Thread& operator=(Thread&& other) noexcept;
  ~Thread();  // joins the thread

  // Returns false if no thread was started, or if this process is a child of the one that started
  // it.
  bool is_here() const noexcept;

 private:
  std::unique_ptr<std::function<void()>> body_;
  pthread_t id_{};
  uint32_t process_ = 0;  // fork count of the thread's process
};

}  // namespace pippin
