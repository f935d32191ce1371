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
void write_timings(JsonWriter& json, const Usage& usage);  // the latter alone
// "prompt_logprobs", as vLLM has it: null for the first token, for each other one those of the
// token itself and of the `likely` most likely ones in its place, by their ids.
void write_prompt_logprobs(JsonWriter& json, const PromptTokens& tokens, size_t likely);
// Numbers of the bytes of a text.
void write_bytes(JsonWriter& json, std::string_view text);

// A token with its logprobs: {"token", "logprob", "bytes", "top_logprobs"}.
void write_logged(JsonWriter& json, const Piece& piece);

std::string_view to_string(Finish finish);

// Of an answer that is nothing else.
std::string content_of(const Piece& piece);

}  // namespace pippin::server
