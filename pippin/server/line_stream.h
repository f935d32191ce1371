// Lines of JSON (NDJSON), as ollama streams answers.
#pragma once

#include <chrono>
#include <string>

#include "pippin/http/server.h"

namespace pippin::server {

// Begins the answer. `filler` is a line to send as a keep-alive: the form has no comments.
void begin_lines(http::Reply& reply, std::chrono::milliseconds silence, const std::string& filler);

// "2026-11-27T16:02:46.123456789Z"
std::string utc_text(std::chrono::system_clock::time_point time);

}  // namespace pippin::server
