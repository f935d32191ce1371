// Log lines go to a sink, stderr by default; the library is silent at its default level (Warn only
// speaks when something needs the user). Choices (kernel, threads, memory) are logged once at
// Debug, never per token. No prompts, tokens or keys at any level.
#pragma once

#include <functional>
#include <string_view>

#include <fmt/core.h>

namespace pippin {

enum class LogLevel { Debug, Info, Warn, Error, Off };

void set_log_level(LogLevel level);
LogLevel log_level();
// An empty sink restores the default.
void set_log_sink(std::function<void(LogLevel, std::string_view)> sink);

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

// "dot: avx512" at Debug, once in the process's life: choices are made many times.
void log_choice(std::string_view family, std::string_view chosen);

}  // namespace pippin
