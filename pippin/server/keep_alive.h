// The keep-alive of idle models, as clients of ollama write it.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "pippin/server/request_fields.h"

namespace pippin::server {

// A number of seconds, or a text as Go writes durations ("5m", "1h30m"). Negative: for ever.
// Nothing for another form.
std::optional<std::chrono::milliseconds> parse_keep_alive(std::string_view text);

// `keep_alive`, and `ttl`, which is the same: a number, or such a text. Throws ApiError(400).
std::optional<std::chrono::milliseconds> read_keep_alive(const RequestFields& body);

}  // namespace pippin::server
