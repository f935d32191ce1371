// Parts that OpenAI's two kinds of answers have in common.
#pragma once

#include <string_view>

#include "pippin/io/json.h"
#include "pippin/server/answer_writers.h"

namespace pippin::server {

// "id", "object", "created", "model", "system_fingerprint"
void write_head(JsonWriter& json, const AnswerOptions& options, std::string_view prefix,
                std::string_view object);
// "usage" and "timings"
void write_usage(JsonWriter& json, const Usage& usage);
// Numbers of the bytes of a text.
void write_bytes(JsonWriter& json, std::string_view text);

std::string_view to_string(Finish finish);

// Of an answer that is nothing else.
std::string content_of(const Piece& piece);

}  // namespace pippin::server
