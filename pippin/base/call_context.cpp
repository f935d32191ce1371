#include "pippin/base/call_context.h"

#include <utility>

namespace pippin {
namespace {

constinit thread_local const CallContext* current_context = nullptr;

}  // namespace

const CallContext& CallContext::current() noexcept {
  static const CallContext none;
  return current_context != nullptr ? *current_context : none;
}

ContextScope::ContextScope(const CallContext& context) noexcept
    : outer_(std::exchange(current_context, &context)) {}

ContextScope::~ContextScope() {
  current_context = outer_;
}

}  // namespace pippin
