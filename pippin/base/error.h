// Throws the library's exception (exception.h, which is public) with a formatted message, to which
// callers can prepend context.
#pragma once

#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "pippin/base/exception.h"

namespace pippin {

[[noreturn]] void throw_error(ErrorCode code, fmt::string_view format, fmt::format_args args);

// fail(ErrorCode::InvalidFile, "{}: header needs {} bytes, the file has {}", path, need, have);
template <typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw_error(code, format, fmt::make_format_args(args...));
}

// Runs `body`. Prepends "context: " to the message of an Error that it throws; the code stays.
template <typename Body>
decltype(auto) with_context(std::string_view context, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", context, error.what());
  }
}

}  // namespace pippin
