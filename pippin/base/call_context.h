// What a call carries to every thread that works for it: who may cancel it, where its log lines go,
// which profile records its runs. None of this is global, so calls that run at the same time do not
// affect each other.
//
// A caller sets these on its own thread for the lifetime of a scope (CancelScope, LogScope,
// ProfileScope). Work that the library starts on another thread enters the context of the call that
// it belongs to: ThreadPool and Worker do so by themselves, others with a ContextScope.
#pragma once

#include <memory>

#include "pippin/base/export.h"

namespace pippin {

class CancelScope;
class Logger;
namespace engine {
class Profile;
}

struct PIPPIN_API CallContext {
  const CancelScope* cancel = nullptr;       // the innermost; null: cannot be cancelled
  std::shared_ptr<Logger> logger;            // null: the default of log.h
  std::shared_ptr<engine::Profile> profile;  // null: nothing is recorded

  // The context of this thread.
  static const CallContext& current() noexcept;
};

// Sets this thread's context for the lifetime of the scope. The context must outlive the scope, and
// scopes must end in reverse order.
class PIPPIN_API ContextScope {
 public:
  explicit ContextScope(const CallContext& context) noexcept;
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  ~ContextScope();

 private:
  const CallContext* outer_;
};

}  // namespace pippin
