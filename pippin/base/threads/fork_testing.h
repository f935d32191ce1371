// For tests only: runs checks in a child of fork(2).
#pragma once

#include <functional>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

// The thread sanitizer does not support threads after a fork, and the address sanitizer's allocator
// may be locked by a thread that the child lacks.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define PIPPIN_SKIP_FORKS GTEST_SKIP() << "sanitizers do not survive a fork among threads"
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define PIPPIN_SKIP_FORKS GTEST_SKIP() << "sanitizers do not survive a fork among threads"
#endif
#endif
#if !defined(PIPPIN_SKIP_FORKS)
#define PIPPIN_SKIP_FORKS static_cast<void>(0)
#endif

namespace pippin {

// Returns the result of `body` in a child. A child that hangs is killed, and the result is false.
inline bool is_true_in_child(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(120);
    bool result = false;
    try {
      result = body();
    } catch (...) {
    }
    ::_exit(result ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace pippin
