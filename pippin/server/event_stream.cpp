#include "pippin/server/event_stream.h"

#include <utility>

namespace pippin::server {

std::string event_text(std::string_view data, std::string_view name) {
  std::string text;
  if (!name.empty()) text.append("event: ").append(name).append("\n");
  return text.append("data: ").append(data).append("\n\n");
}

void begin_events(http::Reply& reply, std::chrono::milliseconds silence, std::string comment) {
  http::Response head{.status = 200, .content_type = "text/event-stream; charset=utf-8"};
  head.headers.emplace_back("cache-control", "no-cache");
  head.headers.emplace_back("x-accel-buffering", "no");  // makes nginx forward each event at once
  reply.begin(head, std::move(comment), silence);
}

}  // namespace pippin::server
