// Keep-alive times of idle models, as ollama's clients write them.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "pippin/server/request_fields.h"

namespace pippin::server {

// Parses a number of seconds or a Go duration ("5m", "1h30m"). A negative one means for ever.
// Returns nothing for other texts.
std::optional<std::chrono::milliseconds> parse_keep_alive(std::string_view text);

// Reads `keep_alive`, or its synonym `ttl`: a number or a duration. Throws ApiError(400).
std::optional<std::chrono::milliseconds> read_keep_alive(const RequestFields& body);

}  // namespace pippin::server
