#include <optional>
#include <utility>

#include "pippin/io/json.h"
#include "pippin/server/answer_writers.h"
#include "pippin/server/event_stream.h"

namespace pippin::server {
namespace {

std::string_view stop_reason(Finish finish, const std::string& stop) {
  if (finish == Finish::Length) return "max_tokens";
  if (finish == Finish::ToolCalls) return "tool_use";
  return stop.empty() ? "end_turn" : "stop_sequence";
}

void write_stop(JsonWriter& json, Finish finish, const std::string& stop) {
  json.member("stop_reason", stop_reason(finish, stop));
  json.key("stop_sequence");
  stop.empty() ? json.value(nullptr) : json.value(stop);
}

void write_counts(JsonWriter& json, const Usage& usage) {
  json.key("usage").begin_object();
  json.member("input_tokens", usage.prompt_tokens - usage.cached_tokens)
      .member("cache_creation_input_tokens", 0)
      .member("cache_read_input_tokens", usage.cached_tokens)
      .member("output_tokens", usage.generated_tokens)
      .end_object();
}

class WholeMessage final : public AnswerWriter {
 public:
  WholeMessage(std::shared_ptr<http::Reply> reply, AnswerOptions options)
      : reply_(std::move(reply)), options_(std::move(options)) {}

  void begin() override {}
  void on_piece(size_t /*choice*/, const Piece& piece) override { answer_.add(piece.parts); }
  void on_choice_end(size_t /*choice*/, Finish finish, const std::string& stop) override {
    finish_ = finish;
    stop_ = stop;
  }
  void end(const Usage& usage) override {
    JsonWriter json;
    json.begin_object().member("id", "msg_" + options_.id).member("type", "message");
    json.member("role", "assistant").member("model", options_.model);
    json.key("content").begin_array();
    if (!answer_.thoughts.empty()) {
      json.begin_object().member("type", "thinking").member("thinking", answer_.thoughts);
      json.member("signature", "").end_object();
    }
    if (!answer_.content.empty() || answer_.calls.empty()) {
      json.begin_object().member("type", "text").member("text", answer_.content).end_object();
    }
    for (const auto& call : answer_.calls) {
      json.begin_object()
          .member("type", "tool_use")
          .member("id", call.id)
          .member("name", call.name);
      // Truncated arguments are not an object.
      json.key("input").raw(call.is_complete ? call.arguments : "{}").end_object();
    }
    json.end_array();
    write_stop(json, finish_, stop_);
    write_counts(json, usage);
    reply_->send({.body = json.end_object().text()});
  }
  void fail(const ApiError& error) override {
    reply_->send(error_response(error, Dialect::Anthropic));
  }

 private:
  const std::shared_ptr<http::Reply> reply_;
  const AnswerOptions options_;
  model_output::Answer answer_;
  std::string stop_;
  Finish finish_ = Finish::Stop;
};

class MessageStream final : public AnswerWriter {
 public:
  MessageStream(std::shared_ptr<http::Reply> reply, AnswerOptions options)
      : reply_(std::move(reply)), options_(std::move(options)) {}

  void begin() override {
    begin_events(*reply_, options_.silence, event_text(R"({"type": "ping"})", "ping"));
    JsonWriter json;
    json.begin_object().member("type", "message_start");
    json.key("message").begin_object();
    json.member("id", "msg_" + options_.id).member("type", "message").member("role", "assistant");
    json.key("content").begin_array().end_array();
    json.member("model", options_.model);
    json.member("stop_reason", nullptr).member("stop_sequence", nullptr);
    write_counts(json, {.prompt_tokens = options_.prompt_tokens});
    write("message_start", json.end_object().end_object());
  }
  void on_piece(size_t /*choice*/, const Piece& piece) override {
    using PartKind = model_output::AnswerPart::Kind;
    for (const model_output::AnswerPart& part : piece.parts) {
      if (part.kind == PartKind::Thoughts) {
        add("thinking", part.text);
      } else if (part.kind == PartKind::Content) {
        add("text", part.text);
      } else if (part.kind == PartKind::CallBegin) {
        open_call(part);
      } else if (part.kind == PartKind::Arguments) {
        write_delta("input_json_delta", "partial_json", part.text);
      } else {
        close();
      }
    }
  }
  void on_choice_end(size_t /*choice*/, Finish finish, const std::string& stop) override {
    if (!block_ && index_ == 0) open("text");
    close();
    finish_ = finish;
    stop_ = stop;
  }
  void end(const Usage& usage) override {
    JsonWriter json;
    json.begin_object().member("type", "message_delta");
    json.key("delta").begin_object();
    write_stop(json, finish_, stop_);
    json.end_object();
    write_counts(json, usage);
    write("message_delta", json.end_object());
    JsonWriter last;
    write("message_stop", last.begin_object().member("type", "message_stop").end_object());
    reply_->end();
  }
  void fail(const ApiError& error) override {
    reply_->write(event_text(error_body(error, Dialect::Anthropic), "error"));
    reply_->end();
  }

 private:
  void open(const char* kind) {
    block_ = kind;
    JsonWriter json;
    json.begin_object().member("type", "content_block_start").member("index", index_);
    json.key("content_block").begin_object().member("type", kind).member(kind, "");
    if (*block_ == "thinking") json.member("signature", "");
    write("content_block_start", json.end_object().end_object());
  }
  void close() {
    if (!block_) return;
    JsonWriter json;
    json.begin_object().member("type", "content_block_stop").member("index", index_++);
    write("content_block_stop", json.end_object());
    block_.reset();
  }
  void add(const char* kind, const std::string& text) {
    if (block_ && *block_ != kind) close();
    if (!block_) open(kind);
    write_delta(*block_ + "_delta", kind, text);
  }
  void open_call(const model_output::AnswerPart& call) {
    close();
    block_ = "tool_use";
    JsonWriter json;
    json.begin_object().member("type", "content_block_start").member("index", index_);
    json.key("content_block").begin_object().member("type", *block_).member("id", call.id);
    json.member("name", call.text).key("input").begin_object().end_object();
    write("content_block_start", json.end_object().end_object());
  }
  void write_delta(const std::string& type, const char* member, const std::string& text) {
    JsonWriter json;
    json.begin_object().member("type", "content_block_delta").member("index", index_);
    json.key("delta").begin_object().member("type", type).member(member, text).end_object();
    write("content_block_delta", json.end_object());
  }
  void write(const char* event, const JsonWriter& json) {
    reply_->write(event_text(json.text(), event));
  }

  const std::shared_ptr<http::Reply> reply_;
  const AnswerOptions options_;
  std::optional<std::string> block_;  // kind of the open block
  int64_t index_ = 0;
  Finish finish_ = Finish::Stop;
  std::string stop_;
};

}  // namespace

std::unique_ptr<AnswerWriter> make_message_writer(std::shared_ptr<http::Reply> reply,
                                                  AnswerOptions options) {
  if (options.streams) {
    return std::make_unique<MessageStream>(std::move(reply), std::move(options));
  }
  return std::make_unique<WholeMessage>(std::move(reply), std::move(options));
}

}  // namespace pippin::server
