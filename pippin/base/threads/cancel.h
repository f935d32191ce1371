// Cancellation of a call from another thread; long operations poll for it.
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

// A flag that one thread sets and calls of others poll.
class CancelToken {
 public:
  CancelToken() = default;
  CancelToken(const CancelToken&) = delete;
  CancelToken& operator=(const CancelToken&) = delete;

  // Callable from any thread and from a signal handler.
  void request() noexcept { requested_.store(true, std::memory_order_relaxed); }
  // Resets the token for another call.
  void reset() noexcept { requested_.store(false, std::memory_order_relaxed); }
  // Returns whether request() was called since the last reset().
  bool is_requested() const noexcept { return requested_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> requested_{false};
  static_assert(std::atomic<bool>::is_always_lock_free);  // required by signal handlers
};

// A condition that only the scope's own thread may check, and checks when it polls. For example, an
// interpreter runs signal handlers in its main thread only.
class PIPPIN_API CancelProbe {
 public:
  // Returns whether to cancel. Called often.
  virtual bool wants_cancel() noexcept = 0;

 protected:
  ~CancelProbe() = default;
};

// While it exists, `token` can cancel the work of this thread and of threads that work for it.
// Scopes nest: the token of any scope cancels everything inside. Token and probe must outlive the
// scope.
class PIPPIN_API CancelScope {
 public:
  // Enters the scope on this thread; `probe`, if there is one, is polled by this thread only.
  explicit CancelScope(const CancelToken& token, CancelProbe* probe = nullptr);
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

  bool is_requested() const noexcept;  // true for this scope or an outer one

 private:
  const CancelToken& token_;
  CancelProbe* const probe_;
  const std::thread::id thread_;
  const CancelScope* outer_;
  CallContext context_;
  ContextScope scope_;
};

// Returns whether the current call was cancelled.
PIPPIN_API bool cancel_requested() noexcept;
// Throws Error(Cancelled) if the current call was cancelled.
PIPPIN_API void check_cancel();

}  // namespace pippin
