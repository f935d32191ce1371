#include "pippin/base/log.h"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <set>
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

void log_choice(std::string_view family, std::string_view chosen) {
  if (log_level() > LogLevel::Debug) return;
  static std::mutex mutex;
  static std::set<std::string> said;
  std::string line = fmt::format("{}: {}", family, chosen);
  {
    const std::lock_guard lock(mutex);
    if (!said.insert(line).second) return;
  }
  log_debug("{}", line);
}

}  // namespace pippin
