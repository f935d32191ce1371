#include <utility>

#include "pippin/server/answer_json.h"
#include "pippin/server/answer_writers.h"
#include "pippin/server/event_stream.h"

namespace pippin::server {
namespace {

void write_token(JsonWriter& json, std::string_view text, double logprob) {
  json.member("token", text).member("logprob", logprob);
  json.key("bytes");
  write_bytes(json, text);
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

// {"content": [...], "refusal": null}; `tokens` is JSON.
void write_logprobs(JsonWriter& json, const std::string& tokens) {
  json.key("logprobs").begin_object();
  json.key("content").raw(tokens);
  json.member("refusal", nullptr).end_object();
}

// --- whole ---

class WholeChat final : public AnswerWriter {
 public:
  WholeChat(std::shared_ptr<http::Reply> reply, AnswerOptions options)
      : reply_(std::move(reply)), options_(std::move(options)), choices_(options_.choices) {}

  void begin() override {}
  void on_piece(size_t choice, const Piece& piece) override {
    choices_[choice].content += piece.content;
    choices_[choice].reasoning += piece.reasoning;
    if (piece.logprobs == nullptr) return;
    JsonWriter token;
    write_logged(token, piece);
    std::string& tokens = choices_[choice].logprobs;
    tokens += (tokens.empty() ? "" : ",") + token.text();
  }
  void on_choice_end(size_t choice, Finish finish, const std::string& /*stop*/) override {
    choices_[choice].finish = finish;
  }
  void end(const Usage& usage) override {
    JsonWriter json;
    json.begin_object();
    write_head(json, options_, "chatcmpl-", "chat.completion");
    json.key("choices").begin_array();
    for (size_t i = 0; i < choices_.size(); ++i) write_choice(json, i);
    json.end_array();
    write_usage(json, usage);
    json.end_object();
    reply_->send({.body = json.text()});
  }
  void fail(const ApiError& error) override {
    reply_->send(error_response(error, Dialect::OpenAi));
  }

 private:
  struct Choice {
    std::string content, reasoning, logprobs;
    Finish finish = Finish::Stop;
  };

  void write_choice(JsonWriter& json, size_t index) const {
    const Choice& choice = choices_[index];
    json.begin_object();
    json.member("index", index);
    json.key("message").begin_object();
    json.member("role", "assistant").member("content", choice.content).member("refusal", nullptr);
    if (!choice.reasoning.empty()) json.member("reasoning_content", choice.reasoning);
    json.end_object();
    if (options_.with_logprobs) {
      write_logprobs(json, "[" + choice.logprobs + "]");
    } else {
      json.member("logprobs", nullptr);
    }
    json.member("finish_reason", to_string(choice.finish)).end_object();
  }

  const std::shared_ptr<http::Reply> reply_;
  const AnswerOptions options_;
  std::vector<Choice> choices_;
};

// --- a stream ---

class ChatStream final : public AnswerWriter {
 public:
  ChatStream(std::shared_ptr<http::Reply> reply, AnswerOptions options)
      : reply_(std::move(reply)), options_(std::move(options)) {}

  void begin() override {
    begin_events(*reply_, options_.silence);
    for (size_t choice = 0; choice < options_.choices; ++choice) {
      send(choice, [](JsonWriter& json) {
        json.member("role", "assistant").member("content", "").member("refusal", nullptr);
      });
    }
  }
  void on_progress(int64_t done, int64_t total) override {
    JsonWriter json = chunk();
    open_choice(json, 0);
    json.end_object();
    close_choice(json, nullptr, "");
    json.end_array();
    json.key("prompt_progress").begin_object();
    json.member("total", total).member("processed", done).end_object();
    write(json.end_object().text());
  }
  void on_piece(size_t choice, const Piece& piece) override {
    JsonWriter logprobs;
    if (piece.logprobs != nullptr) write_logged(logprobs.begin_array(), piece);
    send(
        choice,
        [&](JsonWriter& json) {
          if (!piece.reasoning.empty()) json.member("reasoning_content", piece.reasoning);
          if (!piece.content.empty() || piece.reasoning.empty()) {
            json.member("content", piece.content);
          }
        },
        nullptr, piece.logprobs == nullptr ? "" : logprobs.end_array().text());
  }
  void on_choice_end(size_t choice, Finish finish, const std::string& /*stop*/) override {
    send(
        choice, [](JsonWriter&) {}, to_string(finish).data());
  }
  void end(const Usage& usage) override {
    if (options_.with_usage) {
      JsonWriter json = chunk();
      json.end_array();
      write_usage(json, usage);
      write(json.end_object().text());
    }
    write("[DONE]");
    reply_->end();
  }
  void fail(const ApiError& error) override {
    write(error_body(error, Dialect::OpenAi));
    reply_->end();
  }

 private:
  // Up to the list of choices, which stays open.
  JsonWriter chunk() const {
    JsonWriter json;
    json.begin_object();
    write_head(json, options_, "chatcmpl-", "chat.completion.chunk");
    json.key("choices").begin_array();
    return json;
  }
  static void open_choice(JsonWriter& json, size_t choice) {
    json.begin_object().member("index", choice).key("delta").begin_object();
  }
  static void close_choice(JsonWriter& json, const char* finish, const std::string& logprobs) {
    if (logprobs.empty()) {
      json.member("logprobs", nullptr);
    } else {
      write_logprobs(json, logprobs);
    }
    json.key("finish_reason");
    finish == nullptr ? json.value(nullptr) : json.value(finish);
    json.end_object();
  }

  template <typename Delta>
  void send(size_t choice, Delta&& delta, const char* finish = nullptr,
            const std::string& logprobs = {}) {
    JsonWriter json = chunk();
    open_choice(json, choice);
    delta(json);
    json.end_object();
    close_choice(json, finish, logprobs);
    write(json.end_array().end_object().text());
  }
  void write(std::string_view data) { reply_->write(event_text(data)); }

  const std::shared_ptr<http::Reply> reply_;
  const AnswerOptions options_;
};

}  // namespace

std::unique_ptr<AnswerWriter> make_chat_writer(std::shared_ptr<http::Reply> reply,
                                               AnswerOptions options) {
  if (options.streams) return std::make_unique<ChatStream>(std::move(reply), std::move(options));
  return std::make_unique<WholeChat>(std::move(reply), std::move(options));
}

}  // namespace pippin::server
