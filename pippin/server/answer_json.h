// Parts shared by OpenAI's two kinds of answers.
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
void write_timings(JsonWriter& json, const Usage& usage);  // only "timings"
// Writes "prompt_logprobs" in vLLM's form: null for the first token; for each other token the
// logprobs of that token and of the `likely` most likely tokens at its position, keyed by id.
void write_prompt_logprobs(JsonWriter& json, const PromptTokens& tokens, size_t likely);
// Writes the bytes of a text as numbers.
void write_bytes(JsonWriter& json, std::string_view text);

// A token with its logprobs: {"token", "logprob", "bytes", "top_logprobs"}.
void write_logged(JsonWriter& json, const Piece& piece);

std::string_view to_string(Finish finish);

// Returns the content of a piece, for answers without tools and thoughts.
std::string content_of(const Piece& piece);

}  // namespace pippin::server
