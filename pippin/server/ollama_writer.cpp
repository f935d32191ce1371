#include "pippin/server/ollama_writer.h"

#include <algorithm>
#include <utility>

#include "pippin/server/answer_json.h"
#include "pippin/server/line_stream.h"

namespace pippin::server {
namespace {

using model_output::Answer;

int64_t nanoseconds(double seconds) {
  return static_cast<int64_t>(std::max(seconds, 0.0) * 1e9);
}

double seconds_since_start(const OllamaOptions& options) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - options.start).count();
}

// Writes "model" and "created_at".
void write_begin(JsonWriter& json, const OllamaOptions& options) {
  json.begin_object().member("model", options.model);
  json.member("created_at", utc_text(std::chrono::system_clock::now()));
}

// Writes "message" of a chat, or "response" and "thinking" of a generated text.
void write_text(JsonWriter& json, const OllamaOptions& options, const std::string& content,
                const std::string& thoughts, const std::vector<const Answer::Call*>& calls) {
  if (options.is_chat) json.key("message").begin_object().member("role", "assistant");
  json.member(options.is_chat ? "content" : "response", content);
  if (!thoughts.empty()) json.member("thinking", thoughts);
  if (!calls.empty()) {
    json.key("tool_calls").begin_array();
    for (const Answer::Call* call : calls) {
      json.begin_object().member("id", call->id).key("function").begin_object();
      json.member("index", call->index).member("name", call->name).key("arguments");
      json.raw(call->arguments.empty() ? "{}" : call->arguments).end_object().end_object();
    }
    json.end_array();
  }
  if (options.is_chat) json.end_object();
}

std::string logprobs_of(const Piece& piece) {
  JsonWriter json;
  const auto write = [&](const std::string& token, double logprob) {
    json.begin_object().member("token", token).member("logprob", logprob).key("bytes");
    write_bytes(json, token);
  };
  write(piece.token, piece.logprobs->chosen.logprob);
  if (!piece.logprobs->top.empty()) {
    json.key("top_logprobs").begin_array();
    for (size_t i = 0; i < piece.logprobs->top.size(); ++i) {
      write(piece.top_tokens[i], piece.logprobs->top[i].logprob);
      json.end_object();
    }
    json.end_array();
  }
  return json.end_object().text();
}

class OllamaWriter final : public AnswerWriter {
 public:
  OllamaWriter(std::shared_ptr<http::Reply> reply, OllamaOptions options)
      : reply_(std::move(reply)), options_(std::move(options)) {}

  void begin() override {
    if (options_.streams) begin_lines(*reply_, options_.silence, line("", "", {}));
  }
  void on_piece(size_t /*choice*/, const Piece& piece) override {
    if (options_.context && piece.id >= 0) options_.context->push_back(piece.id);
    if (piece.logprobs != nullptr && options_.with_logprobs) {
      logprobs_ += (logprobs_.empty() ? "" : ",") + logprobs_of(piece);
    }
    const size_t thoughts = answer_.thoughts.size(), content = answer_.content.size();
    answer_.add(piece.parts);
    if (!options_.streams) return;
    std::vector<const Answer::Call*> calls;
    for (; told_calls_ < answer_.calls.size() && answer_.calls[told_calls_].is_complete;) {
      calls.push_back(&answer_.calls[told_calls_++]);
    }
    const std::string new_thoughts = answer_.thoughts.substr(thoughts);
    const std::string new_content = answer_.content.substr(content);
    if (new_thoughts.empty() && new_content.empty() && calls.empty()) return;
    reply_->write(line(new_content, new_thoughts, calls) + "\n");
  }
  void on_choice_end(size_t /*choice*/, Finish finish, const std::string& /*stop*/) override {
    finish_ = finish;
  }
  void end(const Usage& usage) override {
    std::vector<const Answer::Call*> calls;
    for (const Answer::Call& call : answer_.calls) {
      if (call.is_complete) calls.push_back(&call);
    }
    JsonWriter json;
    write_begin(json, options_);
    if (options_.streams) {
      write_text(json, options_, "", "", {});
    } else {
      write_text(json, options_, answer_.content, answer_.thoughts, calls);
    }
    write_logprobs(json);
    json.member("done", true);
    json.member("done_reason", finish_ == Finish::Length ? "length" : "stop");
    if (options_.context) json.member("context", *options_.context);
    json.member("total_duration", nanoseconds(seconds_since_start(options_)));
    json.member("load_duration", nanoseconds(options_.load_seconds));
    json.member("prompt_eval_count", usage.prompt_tokens);
    json.member("prompt_eval_duration", nanoseconds(usage.prompt_seconds));
    json.member("eval_count", usage.generated_tokens);
    json.member("eval_duration", nanoseconds(usage.total_seconds - usage.first_token_seconds));
    json.end_object();
    if (!options_.streams) return reply_->send({.body = json.text()});
    reply_->write(json.text() + "\n");
    reply_->end();
  }
  void fail(const ApiError& error) override {
    if (!options_.streams) return reply_->send(error_response(error, Dialect::Ollama));
    reply_->write(error_body(error, Dialect::Ollama) + "\n");
    reply_->end();
  }

 private:
  std::string line(const std::string& content, const std::string& thoughts,
                   const std::vector<const Answer::Call*>& calls) {
    JsonWriter json;
    write_begin(json, options_);
    write_text(json, options_, content, thoughts, calls);
    write_logprobs(json);
    return json.member("done", false).end_object().text();
  }
  void write_logprobs(JsonWriter& json) {
    if (!logprobs_.empty()) json.key("logprobs").raw("[" + std::exchange(logprobs_, {}) + "]");
  }

  const std::shared_ptr<http::Reply> reply_;
  OllamaOptions options_;
  Answer answer_;
  std::string logprobs_;  // not written yet
  size_t told_calls_ = 0;
  Finish finish_ = Finish::Stop;
};

}  // namespace

std::unique_ptr<AnswerWriter> make_ollama_writer(std::shared_ptr<http::Reply> reply,
                                                 OllamaOptions options) {
  return std::make_unique<OllamaWriter>(std::move(reply), std::move(options));
}

std::string ollama_empty_answer(const OllamaOptions& options, std::string_view reason) {
  JsonWriter json;
  write_begin(json, options);
  write_text(json, options, "", "", {});
  return json.member("done", true).member("done_reason", reason).end_object().text();
}

}  // namespace pippin::server
