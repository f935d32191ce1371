// Log lines of a call go where a LogScope around it says; without one, warnings go to stderr and
// the library is silent otherwise (Warn only speaks when something needs the user). Choices
// (kernel, threads, memory) are logged once at Debug, never per token. No prompts, tokens or keys
// at any level, but for the two tokens, at Debug, where a prompt differs from what the prompt cache
// has (serve/prompt_cache.h).
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include <fmt/core.h>

#include "pippin/base/call_context.h"

namespace pippin {

enum class LogLevel { Debug, Info, Warn, Error, Off };

// Called by one thread at a time; it must not log itself.
using LogSink = std::function<void(LogLevel, std::string_view)>;

// While this lives, the lines of this level and above that this thread logs, and others do that
// work for it (call_context.h), go to `sink`; an empty one is stderr.
class LogScope {
 public:
  explicit LogScope(LogLevel level, LogSink sink = {});
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;

 private:
  CallContext context_;
  ContextScope scope_;
};

// Of the call at hand.
LogLevel log_level() noexcept;

void log_message(LogLevel level, fmt::string_view format, fmt::format_args args);

template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (level >= log_level()) log_message(level, format, fmt::make_format_args(args...));
}
template <typename... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::Debug, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::Info, format, std::forward<Args>(args)...);
}
template <typename... Args>
void log_warn(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::Warn, format, std::forward<Args>(args)...);
}

// "dot: avx512" at Debug, once in a LogScope: choices are made many times.
void log_choice(std::string_view family, std::string_view chosen);

}  // namespace pippin
