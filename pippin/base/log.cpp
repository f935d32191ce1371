#include "pippin/base/log.h"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace pippin {
namespace {

std::atomic<LogLevel> current_level{LogLevel::Warn};
std::mutex sink_mutex;
std::function<void(LogLevel, std::string_view)> current_sink;  // guarded by sink_mutex

const char* prefix(LogLevel level) {
  switch (level) {
    case LogLevel::Debug:
      return "debug: ";
    case LogLevel::Info:
      return "";
    case LogLevel::Warn:
      return "warning: ";
    default:
      return "error: ";
  }
}

}  // namespace

void set_log_level(LogLevel level) {
  current_level = level;
}
LogLevel log_level() {
  return current_level;
}

void set_log_sink(std::function<void(LogLevel, std::string_view)> sink) {
  const std::lock_guard lock(sink_mutex);
  current_sink = std::move(sink);
}

void log_message(LogLevel level, fmt::string_view format, fmt::format_args args) {
  const std::string text = fmt::vformat(format, args);
  const std::lock_guard lock(sink_mutex);
  if (current_sink) {
    current_sink(level, text);
  } else {
    std::fprintf(stderr, "%s%s\n", prefix(level), text.c_str());
  }
}

}  // namespace pippin
