#include "pippin/base/log.h"

#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/threads/fork.h"

namespace pippin {

namespace {

void write_to_stderr(LogLevel level, std::string_view text) {
  const char* prefix = level == LogLevel::Debug  ? "debug: "
                       : level == LogLevel::Info ? ""
                       : level == LogLevel::Warn ? "warning: "
                                                 : "error: ";
  std::fprintf(stderr, "%s%.*s\n", prefix, static_cast<int>(text.size()), text.data());
}

}  // namespace

class Logger {
 public:
  Logger(LogLevel level, LogSink sink)
      : level_(level), sink_(sink != nullptr ? std::move(sink) : write_to_stderr) {}

  LogLevel level() const { return level_; }

  void write(LogLevel level, std::string_view text) {
    const std::lock_guard lock(mutex_);
    sink_(level, text);
  }

  // Returns whether the line is new.
  bool remember(std::string line) { return said_.access()->insert(std::move(line)).second; }

 private:
  const LogLevel level_;
  const LogSink sink_;
  ForkMutex mutex_;                          // guards the sink
  ForkGuarded<std::set<std::string>> said_;  // logged choices
};

namespace {

CallContext with_logger(std::shared_ptr<Logger> logger) {
  CallContext context = CallContext::current();
  context.logger = std::move(logger);
  return context;
}

}  // namespace

LogScope::LogScope(LogLevel level, LogSink sink)
    : context_(with_logger(std::make_shared<Logger>(level, std::move(sink)))), scope_(context_) {}

LogLevel log_level() noexcept {
  const auto& logger = CallContext::current().logger;
  return logger != nullptr ? logger->level() : LogLevel::Warn;
}

void log_message(LogLevel level, fmt::string_view format, fmt::format_args args) {
  const std::string text = fmt::vformat(format, args);
  const auto& logger = CallContext::current().logger;
  if (logger != nullptr) {
    logger->write(level, text);
  } else {
    write_to_stderr(level, text);
  }
}

void log_choice(std::string_view family, std::string_view chosen) {
  if (log_level() > LogLevel::Debug) return;
  std::string line = fmt::format("{}: {}", family, chosen);
  const auto& logger = CallContext::current().logger;  // without a logger, Debug is off
  if (logger->remember(line)) log_debug("{}", line);
}

}  // namespace pippin
