// Server-sent events (WHATWG HTML, section 9.2), written as OpenAI and Anthropic do.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "pippin/http/server.h"

namespace pippin::server {

// "data: {...}\n\n", with "event: name\n" before it unless that is empty. `data` has no line ends.
std::string event_text(std::string_view data, std::string_view name = {});

// Begins the answer. `comment` is what is sent into silence.
void begin_events(http::Reply& reply, std::chrono::milliseconds silence,
                  std::string comment = ": keep-alive\n\n");

}  // namespace pippin::server
