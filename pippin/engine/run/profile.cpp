#include "pippin/engine/run/profile.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "pippin/io/json.h"

namespace pippin::engine {
namespace {

// "f32 [1, 2048] <- f32 [1, 768], f32 [2048]"
std::string shapes_of(const Profile::Event& event) {
  std::string text;
  for (size_t i = 0; i < event.operands.size(); ++i) {
    const Operand& operand = event.operands[i];
    text += i == 0 ? "" : i == event.num_written ? " <- " : ", ";
    text += to_string(operand.storage);
    for (int axis = 0; axis < operand.rank; ++axis) {
      text += fmt::format("{}{}", axis == 0 ? " [" : ", ", operand.shape[axis]);
    }
    text += operand.rank > 0 ? "]" : " []";
  }
  return text;
}

CallContext with_profile(std::shared_ptr<Profile> profile) {
  CallContext context = CallContext::current();
  context.profile = std::move(profile);
  return context;
}

}  // namespace

Profile* active_profile() noexcept {
  return CallContext::current().profile.get();
}

ProfileScope::ProfileScope(std::shared_ptr<Profile> profile)
    : context_(with_profile(std::move(profile))), scope_(context_) {}

void Profile::add_step(const Step& step, std::span<const Operand> operands, int64_t sequences,
                       int thread, Clock::time_point begin, Clock::time_point end) {
  Event event = timed(step.name(), begin, end);
  event.thread = thread;
  event.sequences = sequences;
  event.weight_bytes = step.weight_bytes();
  event.operands.assign(operands.begin(), operands.end());
  event.num_written = step.num_written;
  add(std::move(event));
}

void Profile::add_operation(std::string_view type, Clock::time_point begin, Clock::time_point end) {
  add(timed(std::string(type) + " (reference)", begin, end));
}

void Profile::add_span(std::string name, Clock::time_point begin, Clock::time_point end) {
  Event event = timed(std::move(name), begin, end);
  event.is_step = false;
  add(std::move(event));
}

Profile::Event Profile::timed(std::string name, Clock::time_point begin,
                              Clock::time_point end) const {
  Event event;
  event.name = std::move(name);
  event.start = since_start(begin);
  event.duration = since_start(end) - event.start;
  return event;
}

void Profile::add(Event event) {
  const std::lock_guard lock(mutex_);
  if (events_.size() < kMostEvents) {
    events_.push_back(std::move(event));
  } else {
    ++dropped_;
  }
}

std::vector<Profile::Event> Profile::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

uint64_t Profile::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

std::string Profile::chrome_trace() const {
  const std::lock_guard lock(mutex_);
  JsonWriter json;
  json.begin_object().member("displayTimeUnit", "ms").key("traceEvents").begin_array();
  for (const Event& event : events_) {
    json.begin_object().member("name", event.name).member("ph", "X");
    json.member("cat", event.is_step ? "step" : "run");
    json.member("ts", event.start).member("dur", event.duration);
    json.member("pid", 1).member("tid", event.thread);
    json.key("args").begin_object();
    if (event.is_step) {
      json.member("shapes", shapes_of(event)).member("sequences", event.sequences);
    }
    if (event.weight_bytes > 0) {
      json.member("weight_bytes", event.weight_bytes);
      if (event.duration > 0) {
        json.member("GB/s", static_cast<double>(event.weight_bytes) / event.duration / 1e3);
      }
    }
    json.end_object().end_object();
  }
  json.end_array().end_object();
  return json.text() + "\n";
}

std::vector<Profile::Kind> Profile::kinds() const {
  std::map<std::string, Kind> by_name;
  {
    const std::lock_guard lock(mutex_);
    for (const Event& event : events_) {
      if (!event.is_step) continue;
      Kind& kind = by_name[event.name];
      kind.name = event.name;
      ++kind.count;
      kind.seconds += event.duration / 1e6;
      kind.weight_bytes += static_cast<double>(event.weight_bytes);
    }
  }
  std::vector<Kind> result;
  result.reserve(by_name.size());
  for (auto& [name, kind] : by_name) result.push_back(std::move(kind));
  std::stable_sort(result.begin(), result.end(),
                   [](const Kind& a, const Kind& b) { return a.seconds > b.seconds; });
  return result;
}

std::string Profile::table() const {
  const auto all = kinds();
  double total = 0;
  for (const Kind& kind : all) total += kind.seconds;
  std::string lines =
      fmt::format("{:<44} {:>10} {:>8} {:>8} {:>8}\n", "Step", "ms", "%", "calls", "GB/s");
  for (const Kind& kind : all) {
    const std::string rate = kind.weight_bytes > 0 && kind.seconds > 0
                                 ? fmt::format("{:.1f}", kind.weight_bytes / kind.seconds / 1e9)
                                 : "";
    lines += fmt::format("{:<44} {:>10.3f} {:>8.1f} {:>8} {:>8}\n", kind.name, kind.seconds * 1e3,
                         total > 0 ? kind.seconds / total * 100 : 0, kind.count, rate);
  }
  if (dropped() > 0) lines += fmt::format("{} more steps were not recorded\n", dropped());
  return lines;
}

}  // namespace pippin::engine
