// The time of runs: every step of every run made during a call (ProfileScope), as a table by kind
// of step and as a trace for chrome://tracing and Perfetto.
//
// A model has many executions, deep inside: all that run during the call are recorded. Without a
// profile, a run only checks a pointer.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/base/call_context.h"
#include "pippin/engine/run/step.h"

namespace pippin::engine {

class Profile {
 public:
  using Clock = std::chrono::steady_clock;

  struct Event {
    std::string name;  // of the step, or of a span of several
    bool is_step = true;
    int thread = 0;         // of the pool; 0: the caller
    double start = 0;       // microseconds since the profile was made
    double duration = 0;    // microseconds
    int64_t sequences = 1;  // in the run
    int64_t weight_bytes = 0;
    std::vector<Operand> operands;  // for their shapes; their data is not read
    size_t num_written = 0;
  };

  Profile() : start_(Clock::now()) {}
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  // From any thread. Events beyond kMostEvents only count as dropped.
  void add_step(const Step& step, std::span<const Operand> operands, int64_t sequences, int thread,
                Clock::time_point begin, Clock::time_point end);
  // An operation that the value rules compute, between plans.
  void add_operation(std::string_view type, Clock::time_point begin, Clock::time_point end);
  void add_span(std::string name, Clock::time_point begin, Clock::time_point end);

  // In the order in which they ended, per thread.
  std::vector<Event> events() const;
  uint64_t dropped() const;

  // The trace event format: complete events (ph X), ts and dur in microseconds, a thread of the
  // pool as tid; args: shapes, sequences, weight bytes and their rate.
  std::string chrome_trace() const;

  // Steps of one name together, the longest first.
  struct Kind {
    std::string name;
    int64_t count = 0;
    double seconds = 0;
    double weight_bytes = 0;
  };
  std::vector<Kind> kinds() const;
  // The same as text lines: time, share, calls and GB/s of weights by kind.
  std::string table() const;

  static constexpr size_t kMostEvents = 1'000'000;

 private:
  double since_start(Clock::time_point moment) const {
    return std::chrono::duration<double, std::micro>(moment - start_).count();
  }
  Event timed(std::string name, Clock::time_point begin, Clock::time_point end) const;
  void add(Event event);

  Clock::time_point start_;
  mutable std::mutex mutex_;
  std::vector<Event> events_;
  uint64_t dropped_ = 0;
};

// The profile of the current call, or null.
Profile* active_profile() noexcept;

// While this lives, the runs of this thread, and of threads that work for it (base/call_context.h),
// are recorded in `profile`.
class ProfileScope {
 public:
  explicit ProfileScope(std::shared_ptr<Profile> profile);
  ProfileScope(const ProfileScope&) = delete;
  ProfileScope& operator=(const ProfileScope&) = delete;

 private:
  CallContext context_;
  ContextScope scope_;
};

}  // namespace pippin::engine
