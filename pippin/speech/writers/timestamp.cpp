#include "pippin/speech/writers/timestamp.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace pippin::speech {
namespace {

constexpr int64_t kMinute = 60;  // in seconds
constexpr int64_t kHour = 60 * kMinute;

// Returns the number of parts of a second.
int64_t count_parts(double seconds, int64_t parts) {
  return std::llround(std::max(seconds, 0.0) * static_cast<double>(parts));
}

}  // namespace

std::string format_time(double seconds, bool hours, char mark) {
  const int64_t all = count_parts(seconds, 1000);
  const int64_t whole = all / 1000;
  std::string rest =
      fmt::format("{:02}:{:02}{}{:03}", whole % kHour / kMinute, whole % kMinute, mark, all % 1000);
  if (!hours && whole < kHour) return rest;
  return fmt::format("{:02}:{}", whole / kHour, rest);
}

std::string format_lyrics_time(double seconds) {
  const int64_t all = count_parts(seconds, 100);
  const int64_t whole = all / 100;
  return fmt::format("{:02}:{:02}.{:02}", whole / kMinute, whole % kMinute, all % 100);
}

}  // namespace pippin::speech
