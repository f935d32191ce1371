// The one exception of the project.
//
// The library throws Error when an operation ends without a result: a broken file, a wrong
// argument, a full disk. What is expected (a stop reason, an absent tensor) is a value instead.
// Messages say what, where, and the numbers, in one line; callers that know more put their context
// in front on the way up. The library never prints, aborts or exits.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace pippin {

enum class ErrorCode {
  InvalidFile,      // the bytes of a file break its format
  Unsupported,      // valid, but not something that Pippin does
  InvalidArgument,  // the caller's values are wrong
  NotFound,
  LimitExceeded,
  Io,
  Network,
  Cancelled,
  Device,  // an accelerator failed while it computed
  Internal,
};

std::string_view to_string(ErrorCode code);

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

[[noreturn]] void throw_error(ErrorCode code, fmt::string_view format, fmt::format_args args);

// fail(ErrorCode::InvalidFile, "{}: header needs {} bytes, the file has {}", path, need, have);
template <typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw_error(code, format, fmt::make_format_args(args...));
}

// Runs `body`; an Error that leaves it gets "context: " in front of its message and keeps its code.
template <typename Body>
decltype(auto) with_context(std::string_view context, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", context, error.what());
  }
}

}  // namespace pippin
