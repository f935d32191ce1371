#include "pippin/base/log.h"

#include <string>
#include <utility>

#include "pippin/base/threads/fork.h"
#include "pippin/c/boundary.h"

namespace pippin::c {
namespace {

static_assert(static_cast<int>(LogLevel::Debug) == PIPPIN_LOG_DEBUG);
static_assert(static_cast<int>(LogLevel::Info) == PIPPIN_LOG_INFO);
static_assert(static_cast<int>(LogLevel::Warn) == PIPPIN_LOG_WARN);
static_assert(static_cast<int>(LogLevel::Off) == PIPPIN_LOG_OFF);

std::shared_ptr<Logger> make_logger(LogLevel level, LogSink sink) {
  const LogScope scope(level, std::move(sink));
  return CallContext::current().logger;
}

std::shared_ptr<Logger> silent() {
  return make_logger(LogLevel::Off, [](LogLevel /*level*/, std::string_view /*line*/) {});
}

struct Target {
  std::shared_ptr<Logger> logger = silent();
};

ForkGuarded<Target>& target() {
  static ForkGuarded<Target> target;
  return target;
}

}  // namespace

CallContext call_context() {
  CallContext context = CallContext::current();
  context.logger = target().access()->logger;
  return context;
}

}  // namespace pippin::c

namespace c = pippin::c;
using pippin::ErrorCode;
using pippin::fail;
using pippin::LogLevel;

pippin_code pippin_set_log(pippin_log_function log, void* user, int32_t level,
                           pippin_error** error) {
  return c::guarded(error, [&] {
    if (level < PIPPIN_LOG_DEBUG || level > PIPPIN_LOG_OFF) {
      fail(ErrorCode::InvalidArgument, "level is {}; {} to {} are possible", level,
           PIPPIN_LOG_DEBUG, PIPPIN_LOG_OFF);
    }
    c::target().access()->logger =
        log == nullptr
            ? c::silent()
            : c::make_logger(static_cast<LogLevel>(level),
                             [log, user](LogLevel at, std::string_view line) {
                               log(user, static_cast<int32_t>(at), std::string(line).c_str());
                             });
  });
}
