// A thread of the library's own. Unlike std::thread it is joined where it goes, and may go in a
// child of fork(2) too, where it never was.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <pthread.h>

namespace pippin {

class Thread {
 public:
  Thread() = default;
  // Throws LimitExceeded where the system starts no more threads. An exception that leaves `body`
  // ends the process.
  explicit Thread(std::function<void()> body);
  Thread(Thread&& other) noexcept;
  Thread& operator=(Thread&& other) noexcept;
  ~Thread();  // waits for its end

  // False where none was started, or the process is a child of the one that started it.
  bool is_here() const noexcept;

 private:
  std::unique_ptr<std::function<void()>> body_;
  pthread_t id_{};
  uint32_t process_ = 0;  // by its fork count
};

}  // namespace pippin
