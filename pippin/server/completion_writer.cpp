#include <utility>

#include <fmt/format.h>

#include "pippin/base/text.h"
#include "pippin/server/answer_json.h"
#include "pippin/server/answer_writers.h"
#include "pippin/server/event_stream.h"

namespace pippin::server {
namespace {

// A token as OpenAI's old endpoint names it: "bytes:\\xe2\\x80" where it is a part of characters.
std::string token_name(const std::string& bytes) {
  if (is_valid_utf8(bytes)) return bytes;
  std::string name = "bytes:";
  for (const char c : bytes) name += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return name;
}

// What OpenAI's old endpoint tells of tokens: lists side by side.
struct TokenLists {
  std::vector<std::string> tokens;
  std::vector<double> logprobs;
  std::vector<std::string> top;  // objects of JSON
  std::vector<int64_t> offsets;

  void add(const Piece& piece, int64_t offset) {
    tokens.push_back(token_name(piece.token));
    logprobs.push_back(piece.logprobs->chosen.logprob);
    JsonWriter json;
    json.begin_object();
    for (size_t i = 0; i < piece.logprobs->top.size(); ++i) {
      json.member(token_name(piece.top_tokens[i]), piece.logprobs->top[i].logprob);
    }
    top.push_back(json.end_object().text());
    offsets.push_back(offset);
  }
  void write(JsonWriter& json) const {
    json.begin_object().member("tokens", tokens).member("token_logprobs", logprobs);
    json.key("top_logprobs").begin_array();
    for (const std::string& object : top) json.raw(object);
    json.end_array().member("text_offset", offsets).end_object();
  }
};

void write_choice(JsonWriter& json, size_t index, std::string_view text, const TokenLists* tokens,
                  const char* finish) {
  json.begin_object().member("index", index).member("text", text);
  json.key("logprobs");
  tokens == nullptr ? (void)json.value(nullptr) : tokens->write(json);
  json.key("finish_reason");
  finish == nullptr ? json.value(nullptr) : json.value(finish);
  json.end_object();
}

class WholeCompletion final : public AnswerWriter {
 public:
  WholeCompletion(std::shared_ptr<http::Reply> reply, AnswerOptions options)
      : reply_(std::move(reply)), options_(std::move(options)), choices_(options_.choices) {
    for (size_t i = 0; i < options_.echoes.size(); ++i) choices_[i].text = options_.echoes[i];
  }

  void begin() override {}
  void on_piece(size_t choice, const Piece& piece) override {
    Choice& made = choices_[choice];
    if (piece.logprobs != nullptr) made.tokens.add(piece, std::ssize(made.text));
    made.text += content_of(piece);
  }
  void on_choice_end(size_t choice, Finish finish, const std::string& /*stop*/) override {
    choices_[choice].finish = finish;
  }
  void end(const Usage& usage) override {
    JsonWriter json;
    json.begin_object();
    write_head(json, options_, "cmpl-", "text_completion");
    json.key("choices").begin_array();
    for (size_t i = 0; i < choices_.size(); ++i) {
      write_choice(json, i, choices_[i].text,
                   options_.with_logprobs ? &choices_[i].tokens : nullptr,
                   to_string(choices_[i].finish).data());
    }
    json.end_array();
    write_usage(json, usage);
    reply_->send({.body = json.end_object().text()});
  }
  void fail(const ApiError& error) override {
    reply_->send(error_response(error, Dialect::OpenAi));
  }

 private:
  struct Choice {
    std::string text;
    TokenLists tokens;
    Finish finish = Finish::Stop;
  };
  const std::shared_ptr<http::Reply> reply_;
  const AnswerOptions options_;
  std::vector<Choice> choices_;
};

class CompletionStream final : public AnswerWriter {
 public:
  CompletionStream(std::shared_ptr<http::Reply> reply, AnswerOptions options)
      : reply_(std::move(reply)), options_(std::move(options)), lengths_(options_.choices) {}

  void begin() override {
    begin_events(*reply_, options_.silence);
    for (size_t i = 0; i < options_.echoes.size(); ++i) {
      send(i, options_.echoes[i], nullptr, nullptr);
    }
  }
  void on_piece(size_t choice, const Piece& piece) override {
    TokenLists tokens;
    if (piece.logprobs != nullptr) tokens.add(piece, lengths_[choice]);
    send(choice, content_of(piece), piece.logprobs != nullptr ? &tokens : nullptr, nullptr);
  }
  void on_choice_end(size_t choice, Finish finish, const std::string& /*stop*/) override {
    send(choice, "", nullptr, to_string(finish).data());
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
  JsonWriter chunk() const {
    JsonWriter json;
    json.begin_object();
    write_head(json, options_, "cmpl-", "text_completion");
    json.key("choices").begin_array();
    return json;
  }
  void send(size_t choice, std::string_view text, const TokenLists* tokens, const char* finish) {
    lengths_[choice] += std::ssize(text);
    JsonWriter json = chunk();
    write_choice(json, choice, text, tokens, finish);
    write(json.end_array().end_object().text());
  }
  void write(std::string_view data) { reply_->write(event_text(data)); }

  const std::shared_ptr<http::Reply> reply_;
  const AnswerOptions options_;
  std::vector<int64_t> lengths_;
};

}  // namespace

std::unique_ptr<AnswerWriter> make_completion_writer(std::shared_ptr<http::Reply> reply,
                                                     AnswerOptions options) {
  if (options.streams) {
    return std::make_unique<CompletionStream>(std::move(reply), std::move(options));
  }
  return std::make_unique<WholeCompletion>(std::move(reply), std::move(options));
}

}  // namespace pippin::server
