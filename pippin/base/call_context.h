// Context of a call, carried to every thread that works for it: its cancellation, its log sink, and
// the profile that records its runs. None of this is global, so concurrent calls do not affect each
// other.
//
// A caller sets these on its own thread for the lifetime of a scope (CancelScope, LogScope,
// ProfileScope). When the library works on another thread, that thread enters the context of the
// call: ThreadPool and Worker do this automatically, other code uses a ContextScope.
#pragma once

#include <memory>

#include "pippin/base/export.h"

namespace pippin {

class CancelScope;
class Logger;
namespace engine {
class Profile;
}

// The context of the calls of a thread.
struct PIPPIN_API CallContext {
  const CancelScope* cancel = nullptr;       // innermost scope; null: cannot be cancelled
  std::shared_ptr<Logger> logger;            // null: the default of log.h
  std::shared_ptr<engine::Profile> profile;  // null: nothing is recorded

  // Returns the context of this thread.
  static const CallContext& current() noexcept;
};

// Sets this thread's context for the lifetime of the scope. The context must outlive the scope, and
// scopes must end in reverse order.
class PIPPIN_API ContextScope {
 public:
  // Enters a context.
  explicit ContextScope(const CallContext& context) noexcept;
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  ~ContextScope();

 private:
  const CallContext* outer_;
};

}  // namespace pippin
