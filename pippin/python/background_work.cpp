#include "pippin/python/background_work.h"

#include <chrono>
#include <exception>
#include <utility>

#include <pybind11/pybind11.h>

#include "pippin/base/error.h"
#include "pippin/base/threads/thread.h"
#include "pippin/python/errors.h"

namespace pippin::python {
namespace {

namespace py = pybind11;

// The interval at which a waiting thread checks for signals.
constexpr std::chrono::milliseconds kCheckInterval{50};
// Levels of Python's logging module.
constexpr int kDebug = 10, kInfo = 20, kWarning = 30, kError = 40;

// Only warnings if logging has not been imported: importing it takes longer than some calls.
LogLevel wanted_level() {
  const py::dict modules = py::module_::import("sys").attr("modules");
  if (!modules.contains("logging")) return LogLevel::Warn;
  const py::object logger = modules["logging"].attr("getLogger")("pippin");
  const int level = logger.attr("getEffectiveLevel")().cast<int>();
  if (level <= kDebug) return LogLevel::Debug;
  if (level <= kInfo) return LogLevel::Info;
  if (level <= kWarning) return LogLevel::Warn;
  return level <= kError ? LogLevel::Error : LogLevel::Off;
}

void write_line(LogLevel level, const std::string& line) {
  const int number = level == LogLevel::Debug  ? kDebug
                     : level == LogLevel::Info ? kInfo
                     : level == LogLevel::Warn ? kWarning
                                               : kError;
  // Passed as an argument, because a line may contain percent signs.
  py::module_::import("logging").attr("getLogger")("pippin").attr("log")(number, "%s", line);
}

}  // namespace

BackgroundWork::BackgroundWork() : level_(wanted_level()) {}

void BackgroundWork::inside(const std::function<void()>& work) {
  const CancelScope cancel(cancel_);
  const LogScope log(level_, [this](LogLevel level, std::string_view line) {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(level, line);
    changed_.notify_all();
  });
  work();
}

void BackgroundWork::call_python(const std::function<void()>& callback) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return callback_ == nullptr || is_stopped_; });
  if (is_stopped_) fail(ErrorCode::Cancelled, "cancelled: the caller has gone");
  callback_ = &callback;
  has_raised_ = false;
  changed_.notify_all();
  changed_.wait(lock, [&] { return callback_ != &callback || (is_stopped_ && !is_running_); });
  const bool is_done = callback_ != &callback && !has_raised_;
  if (callback_ == &callback) callback_ = nullptr;
  if (!is_done) fail(ErrorCode::Cancelled, "a callback ended this");
}

void BackgroundWork::change(const std::function<void()>& change) {
  const std::lock_guard lock(mutex_);
  change();
  changed_.notify_all();
}

bool BackgroundWork::wait_for_room(const std::function<bool()>& has_room) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return has_room() || is_stopped_; });
  return !is_stopped_;
}

void BackgroundWork::run(const std::function<void()>& callback) {
  const auto done = [&](bool raised) {
    const std::lock_guard lock(mutex_);
    callback_ = nullptr;
    is_running_ = false;
    has_raised_ = raised;
    changed_.notify_all();
  };
  try {
    callback();
  } catch (...) {
    stop();  // before other callbacks run
    done(true);
    throw;
  }
  done(false);
}

void BackgroundWork::wait(const std::function<bool()>& is_ready) {
  while (true) {
    const std::function<void()>* callback = nullptr;
    std::deque<Line> lines;
    bool ready = false;
    without_lock([&] {
      std::unique_lock lock(mutex_);
      const auto is_asked = [&] { return callback_ != nullptr && !is_running_; };
      changed_.wait_for(lock, kCheckInterval,
                        [&] { return is_asked() || !lines_.empty() || is_ready(); });
      lines.swap(lines_);
      ready = is_ready();
      if (is_asked() && !ready) {  // a result that is ready comes first
        callback = callback_;
        is_running_ = true;
      }
    });
    if (callback != nullptr) run(*callback);
    for (const auto& [level, line] : lines) write_line(level, line);
    if (ready) return;
    check_signals();
  }
}

void BackgroundWork::stop() {
  cancel_.request();
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  changed_.notify_all();
}

void run_work(const std::function<void(BackgroundWork& background)>& work) {
  run_work([](BackgroundWork& /*background*/) {}, work);
}

void run_work(const std::function<void(BackgroundWork& background)>& prepare,
              const std::function<void(BackgroundWork& background)>& work) {
  BackgroundWork background;
  prepare(background);
  std::exception_ptr error;
  bool has_ended = false;
  Thread thread([&] {
    try {
      background.inside([&] { work(background); });
    } catch (...) {
      error = std::current_exception();
    }
    background.change([&] { has_ended = true; });
  });
  try {
    background.wait([&] { return has_ended; });
  } catch (...) {
    background.stop();
    without_lock([&] { thread = {}; });
    throw;
  }
  without_lock([&] { thread = {}; });
  if (error != nullptr) std::rethrow_exception(error);
}

}  // namespace pippin::python
