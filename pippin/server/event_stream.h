// Server-sent events (WHATWG HTML, section 9.2), written as OpenAI and Anthropic do.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "pippin/http/server.h"

namespace pippin::server {

// Returns "data: {...}\n\n", after "event: name\n" unless `name` is empty. `data` has no line ends.
std::string event_text(std::string_view data, std::string_view name = {});

// Begins the answer. `comment` is the keep-alive sent while nothing is streamed.
void begin_events(http::Reply& reply, std::chrono::milliseconds silence,
                  std::string comment = ": keep-alive\n\n");

}  // namespace pippin::server
