#include "pippin/base/threads/cancel.h"

#include "pippin/base/error.h"

namespace pippin {
namespace {

CallContext with_cancel(const CancelScope* scope) {
  CallContext context = CallContext::current();
  context.cancel = scope;
  return context;
}

}  // namespace

CancelScope::CancelScope(const CancelToken& token, CancelProbe* probe)
    : token_(token),
      probe_(probe),
      thread_(std::this_thread::get_id()),
      outer_(CallContext::current().cancel),
      context_(with_cancel(this)),
      scope_(context_) {}

bool CancelScope::is_requested() const noexcept {
  for (const CancelScope* scope = this; scope != nullptr; scope = scope->outer_) {
    if (scope->token_.is_requested()) return true;
    if (scope->probe_ == nullptr || scope->thread_ != std::this_thread::get_id()) continue;
    if (scope->probe_->wants_cancel()) return true;
  }
  return false;
}

bool cancel_requested() noexcept {
  const CancelScope* scope = CallContext::current().cancel;
  return scope != nullptr && scope->is_requested();
}

void check_cancel() {
  if (cancel_requested()) fail(ErrorCode::Cancelled, "cancelled");
}

}  // namespace pippin
