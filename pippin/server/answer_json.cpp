#include "pippin/server/answer_json.h"

#include <algorithm>
#include <string>

namespace pippin::server {
namespace {

double per_second(int64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

void write_token(JsonWriter& json, std::string_view text, double logprob) {
  json.member("token", text).member("logprob", logprob);
  json.key("bytes");
  write_bytes(json, text);
}

}  // namespace

void write_head(JsonWriter& json, const AnswerOptions& options, std::string_view prefix,
                std::string_view object) {
  json.member("id", std::string(prefix) + options.id)
      .member("object", object)
      .member("created", options.created)
      .member("model", options.model)
      .member("system_fingerprint", "pippin");
}

void write_usage(JsonWriter& json, const Usage& usage) {
  json.key("usage").begin_object();
  json.member("prompt_tokens", usage.prompt_tokens)
      .member("completion_tokens", usage.generated_tokens)
      .member("total_tokens", usage.prompt_tokens + usage.generated_tokens);
  json.key("prompt_tokens_details").begin_object();
  json.member("cached_tokens", usage.cached_tokens).end_object();
  json.key("completion_tokens_details").begin_object();
  json.member("reasoning_tokens", usage.reasoning_tokens)
      .member("accepted_prediction_tokens", usage.accepted_tokens)
      .member("rejected_prediction_tokens", usage.drafted_tokens - usage.accepted_tokens)
      .end_object();
  json.end_object();
  write_timings(json, usage);
}

void write_timings(JsonWriter& json, const Usage& usage) {
  const int64_t read = usage.prompt_tokens - usage.cached_tokens;
  const double decode = usage.total_seconds - usage.first_token_seconds;
  json.key("timings").begin_object();
  json.member("queue_ms", usage.queue_seconds * 1000)
      .member("cache_n", usage.cached_tokens)
      .member("prompt_n", read)
      .member("prompt_ms", usage.prompt_seconds * 1000)
      .member("prompt_per_token_ms",
              read > 0 ? usage.prompt_seconds * 1000 / static_cast<double>(read) : 0)
      .member("prompt_per_second", per_second(read, usage.prompt_seconds))
      .member("predicted_n", usage.generated_tokens)
      .member("predicted_ms", decode * 1000)
      .member("predicted_per_second",
              per_second(std::max<int64_t>(usage.generated_tokens - usage.choices, 0), decode))
      .member("draft_n", usage.drafted_tokens)
      .member("draft_n_accepted", usage.accepted_tokens);
  json.end_object();
}

void write_prompt_logprobs(JsonWriter& json, const PromptTokens& tokens, size_t likely) {
  json.key("prompt_logprobs").begin_array();
  for (const PromptToken& token : tokens) {
    if (!token.logprobs) {
      json.value(nullptr);
      continue;
    }
    const auto write = [&](const runtime::TokenLogprob& one, int64_t rank,
                           const std::string& text) {
      json.key(std::to_string(one.id)).begin_object().member("logprob", one.logprob);
      json.member("rank", rank).member("decoded_token", text).end_object();
    };
    json.begin_object();
    const auto& logprobs = *token.logprobs;
    write(logprobs.chosen, logprobs.rank, token.text);
    for (size_t i = 0; i < std::min(likely, logprobs.top.size()); ++i) {
      if (logprobs.top[i].id == token.id) continue;
      write(logprobs.top[i], static_cast<int64_t>(i) + 1, token.top_texts[i]);
    }
    json.end_object();
  }
  json.end_array();
}

void write_bytes(JsonWriter& json, std::string_view text) {
  json.begin_array();
  for (const char c : text) json.value(int{static_cast<unsigned char>(c)});
  json.end_array();
}

void write_logged(JsonWriter& json, const Piece& piece) {
  json.begin_object();
  write_token(json, piece.token, piece.logprobs->chosen.logprob);
  json.key("top_logprobs").begin_array();
  for (size_t i = 0; i < piece.logprobs->top.size(); ++i) {
    json.begin_object();
    write_token(json, piece.top_tokens[i], piece.logprobs->top[i].logprob);
    json.end_object();
  }
  json.end_array().end_object();
}

std::string_view to_string(Finish finish) {
  switch (finish) {
    case Finish::Length:
      return "length";
    case Finish::ToolCalls:
      return "tool_calls";
    case Finish::Stop:
      break;
  }
  return "stop";
}

std::string content_of(const Piece& piece) {
  model_output::Answer answer;
  answer.add(piece.parts);
  return answer.content;
}

}  // namespace pippin::server
