#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/text.h"
#include "pippin/server/answer_json.h"
#include "pippin/server/answer_writers.h"
#include "pippin/server/event_stream.h"

namespace pippin::server {
namespace {

// Returns a token's name at OpenAI's old endpoint: "bytes:\\xe2\\x80" for a part of a character.
std::string token_name(const std::string& bytes) {
  if (is_valid_utf8(bytes)) return bytes;
  std::string name = "bytes:";
  for (const char c : bytes) name += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return name;
}

int64_t count_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

// Tokens in the form of OpenAI's old endpoint: parallel lists.
struct TokenLists {
  struct Token {
    std::string name;
    std::optional<double> logprob;
    std::string top = "null";  // a JSON object
    int64_t offset = 0;        // in characters
  };
  std::vector<Token> tokens;

  void add(const Piece& piece, int64_t offset) {
    add(piece.token, piece.logprobs, piece.top_tokens, SIZE_MAX, offset);
  }
  // Adds the tokens of a prompt, with the `likely` most likely tokens of each position.
  void add(const PromptTokens& prompt, size_t likely) {
    int64_t offset = 0;
    for (const PromptToken& token : prompt) {
      add(token.text, token.logprobs ? &*token.logprobs : nullptr, token.top_texts, likely, offset);
      offset += count_characters(token.text);
    }
  }
  void write(JsonWriter& json) const {
    const auto list = [&](const char* name, auto&& write_one) {
      json.key(name).begin_array();
      for (const Token& token : tokens) write_one(token);
      json.end_array();
    };
    json.begin_object();
    list("tokens", [&](const Token& token) { json.value(token.name); });
    list("token_logprobs", [&](const Token& token) {
      token.logprob ? json.value(*token.logprob) : json.value(nullptr);
    });
    list("top_logprobs", [&](const Token& token) { json.raw(token.top); });
    list("text_offset", [&](const Token& token) { json.value(token.offset); });
    json.end_object();
  }

 private:
  void add(const std::string& bytes, const runtime::Logprobs* logprobs,
           const std::vector<std::string>& top, size_t likely, int64_t offset) {
    Token& token = tokens.emplace_back(Token{token_name(bytes), std::nullopt, "null", offset});
    if (logprobs == nullptr) return;
    token.logprob = logprobs->chosen.logprob;
    JsonWriter json;
    json.begin_object();
    for (size_t i = 0; i < std::min(likely, logprobs->top.size()); ++i) {
      json.member(token_name(top[i]), logprobs->top[i].logprob);
    }
    token.top = json.end_object().text();
  }
};

// Writes an object without its end.
void begin_choice(JsonWriter& json, size_t index, std::string_view text, const TokenLists* tokens,
                  const char* finish) {
  json.begin_object().member("index", index).member("text", text);
  json.key("logprobs");
  tokens == nullptr ? (void)json.value(nullptr) : tokens->write(json);
  json.key("finish_reason");
  finish == nullptr ? json.value(nullptr) : json.value(finish);
}

class WholeCompletion final : public AnswerWriter {
 public:
  WholeCompletion(std::shared_ptr<http::Reply> reply, AnswerOptions options)
      : reply_(std::move(reply)), options_(std::move(options)), choices_(options_.choices) {
    for (size_t i = 0; i < options_.echoes.size(); ++i) choices_[i].text = options_.echoes[i];
  }

  void begin() override {}
  void on_prompt_tokens(size_t prompt, PromptTokens tokens) override {
    prompts_.resize(std::max(prompts_.size(), prompt + 1));
    prompts_[prompt] = std::move(tokens);
  }
  void on_piece(size_t choice, const Piece& piece) override {
    Choice& made = choices_[choice];
    if (piece.logprobs != nullptr) made.tokens.add(piece, count_characters(made.text));
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
      const size_t prompt = i / options_.prompt_choices;
      TokenLists lists;
      if (options_.echoes_logprobs) lists.add(prompts_.at(prompt), options_.top_logprobs);
      const auto& own = choices_[i].tokens.tokens;
      lists.tokens.insert(lists.tokens.end(), own.begin(), own.end());
      begin_choice(json, i, choices_[i].text, options_.with_logprobs ? &lists : nullptr,
                   to_string(choices_[i].finish).data());
      if (options_.prompt_logprobs) {
        write_prompt_logprobs(json, prompts_.at(prompt), *options_.prompt_logprobs);
      }
      json.end_object();
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
  std::vector<PromptTokens> prompts_;  // if their logprobs were requested
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
    lengths_[choice] += count_characters(text);
    JsonWriter json = chunk();
    begin_choice(json, choice, text, tokens, finish);
    write(json.end_object().end_array().end_object().text());
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
