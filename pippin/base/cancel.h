// Cancelling a call from outside: another thread requests it, and long work polls for it.
//
//   CancelToken token;                // another thread may call token.request()
//   {
//     const CancelScope scope(token);
//     sequence.prefill(ids);          // throws Error(Cancelled) soon after token.request()
//   }
#pragma once

#include <atomic>
#include <thread>

#include "pippin/base/call_context.h"
#include "pippin/base/export.h"

namespace pippin {

class CancelToken {
 public:
  CancelToken() = default;
  CancelToken(const CancelToken&) = delete;
  CancelToken& operator=(const CancelToken&) = delete;

  // From any thread, and from a signal handler.
  void request() noexcept { requested_.store(true, std::memory_order_relaxed); }
  // Makes the token ready for another call.
  void reset() noexcept { requested_.store(false, std::memory_order_relaxed); }
  bool is_requested() const noexcept { return requested_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> requested_{false};
  static_assert(std::atomic<bool>::is_always_lock_free);  // for signal handlers
};

// Is asked as well where the thread that made its scope polls, and only by that one: what a thread
// has to look for itself, as handlers of signals that an interpreter runs in its main thread.
class PIPPIN_API CancelProbe {
 public:
  // Whether to cancel. Is asked often.
  virtual bool wants_cancel() noexcept = 0;

 protected:
  ~CancelProbe() = default;
};

// While this lives, `token` can cancel what this thread does and what others do for it. Scopes
// nest: the token of any of them cancels everything inside. Token and probe must outlive the scope.
class PIPPIN_API CancelScope {
 public:
  explicit CancelScope(const CancelToken& token, CancelProbe* probe = nullptr);
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

  bool is_requested() const noexcept;  // by this scope or an outer one

 private:
  const CancelToken& token_;
  CancelProbe* const probe_;
  const std::thread::id thread_;
  const CancelScope* outer_;
  CallContext context_;
  ContextScope scope_;
};

// Whether the current call was cancelled.
PIPPIN_API bool cancel_requested() noexcept;
// Throws Error(Cancelled) if it was.
PIPPIN_API void check_cancel();

}  // namespace pippin
