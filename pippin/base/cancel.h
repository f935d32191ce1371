// Cancelling a call from outside: another thread requests it, and long work polls for it.
//
//   CancelToken token;                // another thread may call token.request()
//   {
//     const CancelScope scope(token);
//     sequence.prefill(ids);          // throws Error(Cancelled) soon after token.request()
//   }
#pragma once

#include <atomic>

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

// While this lives, `token` can cancel what this thread does and what others do for it. Scopes
// nest: the token of any of them cancels everything inside. The token must outlive the scope.
class PIPPIN_API CancelScope {
 public:
  explicit CancelScope(const CancelToken& token);
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

  bool is_requested() const noexcept;  // by this token or one of an outer scope

 private:
  const CancelToken& token_;
  const CancelScope* outer_;
  CallContext context_;
  ContextScope scope_;
};

// Whether the current call was cancelled.
PIPPIN_API bool cancel_requested() noexcept;
// Throws Error(Cancelled) if it was.
PIPPIN_API void check_cancel();

}  // namespace pippin
