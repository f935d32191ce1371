// Where C ends: no exception passes, nothing is logged but where the caller says.
#pragma once

#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>

#include "pippin/base/call_context.h"
#include "pippin/base/error.h"
#include "pippin/c/pippin.h"

namespace pippin::c {

// Sets *error, where there is one, and returns the code.
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

// What `pointer` points to. Throws InvalidArgument for NULL; `name` is the argument's.
template <typename T>
T& needed(T* pointer, const char* name) {
  if (pointer == nullptr) fail(ErrorCode::InvalidArgument, "{} is NULL", name);
  return *pointer;
}

inline std::string_view needed_text(const char* text, const char* name) {
  return &needed(text, name);
}

// Gives what `make` returns, a unique_ptr, to *target, which is NULL where that throws.
template <typename T, typename Make>
pippin_code give(T** target, const char* name, pippin_error** error, Make&& make) noexcept {
  return guarded(error, [&] {
    needed(target, name) = nullptr;
    *target = make().release();
  });
}

// Memory for pippin_free(). Throws bad_alloc.
template <typename T>
T* copy_out(std::span<const T> items) {
  auto* const memory = static_cast<T*>(std::malloc(items.size_bytes() + sizeof(T)));
  if (memory == nullptr) throw std::bad_alloc();
  if (!items.empty()) std::memcpy(memory, items.data(), items.size_bytes());
  memory[items.size()] = T{};  // the end of texts
  return memory;
}

}  // namespace pippin::c
