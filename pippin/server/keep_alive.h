// The keep-alive of a request's model, as ollama's clients write it.
#pragma once

#include <chrono>
#include <optional>

#include "pippin/server/request_fields.h"

namespace pippin::server {

// `keep_alive`: a number of seconds, or a text as Go writes durations ("5m", "1h30m", "-1").
// Negative: for ever. Throws ApiError(400).
std::optional<std::chrono::milliseconds> read_keep_alive(const RequestFields& body);

}  // namespace pippin::server
