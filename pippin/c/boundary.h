// The boundary to C: no exception crosses it, and logging goes only where the caller directs it.
#pragma once

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pippin/base/call_context.h"
#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/c/pippin.h"

namespace pippin::c {

// Sets *error, unless `error` is null, and returns the code.
pippin_code report(pippin_error** error, ErrorCode code, const char* message) noexcept;
// The context of a call: this thread's, with the log of pippin_set_log().
CallContext call_context();

// Runs `body` for a function that can fail.
template <typename Body>
pippin_code guarded(pippin_error** error, Body&& body) noexcept {
  try {
    if (error != nullptr) *error = nullptr;
    const CallContext context = call_context();
    const ContextScope scope(context);
    body();
    return PIPPIN_OK;
  } catch (const Error& thrown) {
    return report(error, thrown.code(), thrown.what());
  } catch (const std::bad_alloc&) {
    return report(error, ErrorCode::LimitExceeded, "there is not enough memory");
  } catch (const std::exception& thrown) {
    return report(error, ErrorCode::Internal, thrown.what());
  } catch (...) {
    return report(error, ErrorCode::Internal, "an unknown exception");
  }
}

// The object that `pointer` points to. Throws InvalidArgument for NULL; `name` is the argument's.
template <typename T>
T& needed(T* pointer, const char* name) {
  if (pointer == nullptr) fail(ErrorCode::InvalidArgument, "{} is NULL", name);
  return *pointer;
}

inline std::string_view needed_text(const char* text, const char* name) {
  return &needed(text, name);
}

// Releases the unique_ptr that `make` returns to *target, which is NULL if `make` throws.
template <typename T, typename Make>
pippin_code give(T** target, const char* name, pippin_error** error, Make&& make) noexcept {
  return guarded(error, [&] {
    needed(target, name) = nullptr;
    *target = make().release();
  });
}

// Views `count` items. Throws InvalidArgument for a negative count, and for NULL if there are
// items.
template <typename T>
std::span<const T> needed_items(const T* items, int64_t count, const char* name) {
  if (count < 0) fail(ErrorCode::InvalidArgument, "{} are {} items", name, count);
  if (count > 0) needed(items, name);
  return {items, static_cast<size_t>(count)};
}

// Locks an object that one thread at a time may use: it has is_used, and `name` is for messages.
template <typename T>
class BusyScope {
 public:
  BusyScope(T& object, const char* name) : object_(object) {
    if (object_.is_used.exchange(true, std::memory_order_acquire)) {
      fail(ErrorCode::InvalidArgument, "the {} is in use: one thread at a time may use it", name);
    }
  }
  BusyScope(const BusyScope&) = delete;
  BusyScope& operator=(const BusyScope&) = delete;
  ~BusyScope() { object_.is_used.store(false, std::memory_order_release); }

 private:
  T& object_;
};

// During its lifetime, `cancel`, which may be NULL, can cancel work on this thread.
class CancelBy {
 public:
  explicit CancelBy(const pippin_cancel* cancel) {
    if (cancel != nullptr) scope_.emplace(token_of(*cancel));
  }

 private:
  static const CancelToken& token_of(const pippin_cancel& cancel);
  std::optional<CancelScope> scope_;
};

// Allocates memory for pippin_free(). Throws bad_alloc.
template <typename T>
T* copy_out(std::span<const T> items) {
  auto* const memory = static_cast<T*>(std::malloc(items.size_bytes() + sizeof(T)));
  if (memory == nullptr) throw std::bad_alloc();
  if (!items.empty()) std::memcpy(memory, items.data(), items.size_bytes());
  memory[items.size()] = T{};  // terminates texts
  return memory;
}

}  // namespace pippin::c
