#include <utility>

#include "pippin/server/answer_json.h"
#include "pippin/server/answer_writers.h"
#include "pippin/server/event_stream.h"

namespace pippin::server {
namespace {

// Writes {"content": [...], "refusal": null}; `tokens` is JSON.
void write_logprobs(JsonWriter& json, const std::string& tokens) {
  json.key("logprobs").begin_object();
  json.key("content").raw(tokens);
  json.member("refusal", nullptr).end_object();
}

// Writes the remaining members of a call's object.
void write_function(JsonWriter& json, std::string_view id, std::string_view name,
                    std::string_view arguments) {
  json.member("id", id).member("type", "function").key("function").begin_object();
  json.member("name", name).member("arguments", arguments).end_object().end_object();
}

void write_call(JsonWriter& json, std::string_view id, std::string_view name,
                std::string_view arguments) {
  write_function(json.begin_object(), id, name, arguments);
}

// Servers and clients use two names for this field.
void write_thoughts(JsonWriter& json, std::string_view thoughts) {
  json.member("reasoning_content", thoughts).member("reasoning", thoughts);
}

// --- whole ---

class WholeChat final : public AnswerWriter {
 public:
  WholeChat(std::shared_ptr<http::Reply> reply, AnswerOptions options)
      : reply_(std::move(reply)), options_(std::move(options)), choices_(options_.choices) {}

  void begin() override {}
  void on_prompt_tokens(size_t /*prompt*/, PromptTokens tokens) override {
    prompt_ = std::move(tokens);
  }
  void on_piece(size_t choice, const Piece& piece) override {
    choices_[choice].answer.add(piece.parts);
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
    if (!prompt_.empty()) write_prompt_logprobs(json, prompt_, options_.prompt_logprobs.value());
    write_usage(json, usage);
    json.end_object();
    reply_->send({.body = json.text()});
  }
  void fail(const ApiError& error) override {
    reply_->send(error_response(error, Dialect::OpenAi));
  }

 private:
  struct Choice {
    model_output::Answer answer;
    std::string logprobs;
    Finish finish = Finish::Stop;
  };

  void write_choice(JsonWriter& json, size_t index) const {
    const Choice& choice = choices_[index];
    const model_output::Answer& answer = choice.answer;
    json.begin_object();
    json.member("index", index);
    json.key("message").begin_object();
    json.member("role", "assistant").key("content");
    if (answer.content.empty() && !answer.calls.empty()) {
      json.value(nullptr);
    } else {
      json.value(answer.content);
    }
    json.member("refusal", nullptr);
    if (!answer.thoughts.empty()) write_thoughts(json, answer.thoughts);
    if (!answer.calls.empty()) {
      json.key("tool_calls").begin_array();
      for (const auto& call : answer.calls) write_call(json, call.id, call.name, call.arguments);
      json.end_array();
    }
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
  PromptTokens prompt_;  // if its logprobs were requested
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
    JsonWriter writer;
    std::string logprobs;  // sent with the first part
    if (piece.logprobs != nullptr) {
      write_logged(writer.begin_array(), piece);
      logprobs = writer.end_array().text();
    }
    for (const model_output::AnswerPart& part : piece.parts) {
      // The beginning of the call has been sent, and a broken call cannot be taken back.
      if (part.kind == PartKind::CallEnd || part.kind == PartKind::CallBroken) continue;
      send(
          choice, [&](JsonWriter& json) { write_part(json, part); }, nullptr,
          std::exchange(logprobs, {}));
    }
    if (logprobs.empty()) return;
    send(
        choice, [&](JsonWriter& json) { json.member("content", ""); }, nullptr, logprobs);
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
  using PartKind = model_output::AnswerPart::Kind;
  static void write_part(JsonWriter& json, const model_output::AnswerPart& part) {
    if (part.kind == PartKind::Content) {
      json.member("content", part.text);
    } else if (part.kind == PartKind::Thoughts) {
      write_thoughts(json, part.text);
    } else {
      json.key("tool_calls").begin_array().begin_object().member("index", part.index);
      if (part.kind == PartKind::CallBegin) {
        write_function(json, part.id, part.text, "");
      } else {
        json.key("function").begin_object().member("arguments", part.text);
        json.end_object().end_object();
      }
      json.end_array();
    }
  }
  // Returns a chunk up to its list of choices, which stays open.
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
