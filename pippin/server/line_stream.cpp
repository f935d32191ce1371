#include "pippin/server/line_stream.h"

#include <ctime>

#include <fmt/format.h>

namespace pippin::server {

void begin_lines(http::Reply& reply, std::chrono::milliseconds silence, const std::string& filler) {
  http::Response head{.status = 200, .content_type = "application/x-ndjson"};
  head.headers.emplace_back("cache-control", "no-cache");
  head.headers.emplace_back("x-accel-buffering", "no");  // makes nginx forward each line at once
  reply.begin(head, filler + "\n", silence);
}

std::string utc_text(std::chrono::system_clock::time_point time) {
  using std::chrono::nanoseconds;
  const auto since = std::chrono::duration_cast<nanoseconds>(time.time_since_epoch());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since);
  const std::time_t whole = seconds.count();
  std::tm parts{};
  ::gmtime_r(&whole, &parts);
  return fmt::format("{}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     (since - nanoseconds(seconds)).count());
}

}  // namespace pippin::server
