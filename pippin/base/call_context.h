// What a call carries into everything that is done for it, on whatever thread: who may cancel it,
// where its log lines go, which profile its runs are recorded in. Nothing of that belongs to the
// process, so calls that run beside each other know nothing of each other.
//
// A caller sets one of these for as long as a scope lives (CancelScope, LogScope, ProfileScope), in
// its own thread. Whatever the library starts on another thread enters the context of the call that
// it works for: ThreadPool and Worker do so by themselves, others by a ContextScope.
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
  const CancelScope* cancel = nullptr;       // the innermost; null: nobody cancels it
  std::shared_ptr<Logger> logger;            // null: as log.h says
  std::shared_ptr<engine::Profile> profile;  // null: nothing is recorded

  // This thread's.
  static const CallContext& current() noexcept;
};

// Makes a context this thread's for as long as it lives. The context must stay where it is, and
// scopes end in the opposite order of their begin.
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
