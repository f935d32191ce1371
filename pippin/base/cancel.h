// Cancelling a call from outside: somebody requests it, and long work that is done for the call
// polls it.
//
//   CancelToken token;                // whoever may cancel keeps a pointer to it
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
  // For another call.
  void reset() noexcept { requested_.store(false, std::memory_order_relaxed); }
  bool is_requested() const noexcept { return requested_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> requested_{false};
  static_assert(std::atomic<bool>::is_always_lock_free);  // for signal handlers
};

// What this thread does, and others for it, can be cancelled by `token` while this lives. Scopes
// nest: any of their tokens ends what is done inside. The token must outlive the scope.
class PIPPIN_API CancelScope {
 public:
  explicit CancelScope(const CancelToken& token);
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

  bool is_requested() const noexcept;  // of this token or of one outside of it

 private:
  const CancelToken& token_;
  const CancelScope* outer_;
  CallContext context_;
  ContextScope scope_;
};

// Whether the call at hand was cancelled.
PIPPIN_API bool cancel_requested() noexcept;
// Throws Error(Cancelled) where it was.
PIPPIN_API void check_cancel();

}  // namespace pippin
