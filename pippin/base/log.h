// Logging per call: lines go to the sink of the enclosing LogScope. Without one, warnings go to
// stderr and everything else is dropped. Warn is only for problems that need the user's attention.
// Choices (kernel, threads, memory) are logged once at Debug, never per token. Prompts, tokens and
// keys are never logged at any level, except that Debug lines show the two tokens at which a prompt
// differs from the prompt cache (scheduling/prompt_cache.h).
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include <fmt/core.h>

#include "pippin/base/call_context.h"

namespace pippin {

enum class LogLevel { Debug, Info, Warn, Error, Off };

// Called by one thread at a time; must not log itself.
using LogSink = std::function<void(LogLevel, std::string_view)>;

// While it exists, lines of this level and above go to `sink` (an empty one is stderr), if they are
// logged by this thread or by threads that work for it (call_context.h).
class LogScope {
 public:
  explicit LogScope(LogLevel level, LogSink sink = {});
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;

 private:
  CallContext context_;
  ContextScope scope_;
};

// Returns the level of the current call.
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

// Logs "dot: avx512" at Debug, once per LogScope, because choices are made many times.
void log_choice(std::string_view family, std::string_view chosen);

}  // namespace pippin
