#include "pippin/base/threads/thread.h"

#include <cstring>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/threads/fork.h"

namespace pippin {
namespace {

// Linux's default. macOS gives 512 KB to all threads but the first, less than the limits of parsers
// and grammars assume.
constexpr size_t kStack = size_t{8} << 20;

void* run_body(void* body) noexcept {
  (*static_cast<std::function<void()>*>(body))();
  return nullptr;
}

}  // namespace

Thread::Thread(std::function<void()> body)
    : body_(std::make_unique<std::function<void()>>(std::move(body))), process_(fork_count()) {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kStack);
  const int error = ::pthread_create(&id_, &attributes, run_body, body_.get());
  ::pthread_attr_destroy(&attributes);
  if (error != 0) {
    fail(ErrorCode::LimitExceeded, "a thread cannot be started: {}", std::strerror(error));
  }
}

Thread::Thread(Thread&& other) noexcept = default;

Thread& Thread::operator=(Thread&& other) noexcept {
  std::swap(body_, other.body_);
  std::swap(id_, other.id_);
  std::swap(process_, other.process_);
  return *this;
}

Thread::~Thread() {
  if (is_here()) ::pthread_join(id_, nullptr);
}

bool Thread::is_here() const noexcept {
  return body_ != nullptr && process_ == fork_count();
}

}  // namespace pippin
