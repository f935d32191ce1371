#include "pippin/server/response_writer.h"

#include <ctime>
#include <utility>

#include "pippin/io/json.h"
#include "pippin/server/answer_json.h"
#include "pippin/server/event_stream.h"
#include "pippin/server/response_output.h"

namespace pippin::server {
namespace {

void write_response_usage(JsonWriter& json, const Usage& usage) {
  json.key("usage").begin_object().member("input_tokens", usage.prompt_tokens);
  json.key("input_tokens_details").begin_object();
  json.member("cached_tokens", usage.cached_tokens).member("cache_write_tokens", 0).end_object();
  json.member("output_tokens", usage.generated_tokens);
  json.key("output_tokens_details").begin_object();
  json.member("reasoning_tokens", usage.reasoning_tokens).end_object();
  json.member("total_tokens", usage.prompt_tokens + usage.generated_tokens).end_object();
  write_timings(json, usage);
}

// The state of a response.
struct Outcome {
  std::string_view status = "in_progress";
  const Usage* usage = nullptr;
  const ApiError* error = nullptr;
};

// Writes whole answers and streams; the latter report progress as events.
class ResponseWriter final : public AnswerWriter {
 public:
  ResponseWriter(std::shared_ptr<RunningResponse> reply, ResponseWriterOptions options,
                 ResponseKeeper keeper)
      : reply_(std::move(reply)),
        options_(std::move(options)),
        keeper_(std::move(keeper)),
        output_(options_.name, options_.seals_thoughts, emitter()) {}

  void begin() override {
    const std::string response = response_text({});
    keeper_.on_begin(response);
    if (options_.streams) {
      begin_events(*reply_, options_.silence);
      write_state("response.created", response);
      write_state("response.in_progress", response);
    } else if (options_.in_background) {
      reply_->send({.body = response});
    }
  }
  void on_progress(int64_t done, int64_t total) override {
    if (!options_.streams) return;
    JsonWriter event;
    event.begin_object().key("response").raw(response_text({}));
    event.key("prompt_progress").begin_object();
    event.member("total", total).member("processed", done).end_object();
    write_event("response.in_progress", event);
  }
  void on_piece(size_t /*choice*/, const Piece& piece) override { output_.add(piece); }
  void on_choice_end(size_t /*choice*/, Finish finish, const std::string& /*stop*/) override {
    is_cut_ = finish == Finish::Length;
    output_.close(is_cut_);
  }
  void end(const Usage& usage) override {
    const std::string response =
        response_text({.status = is_cut_ ? "incomplete" : "completed", .usage = &usage});
    keeper_.on_end(response, true);
    finish(is_cut_ ? "response.incomplete" : "response.completed", response);
  }
  void fail(const ApiError& error) override {
    const bool is_cancelled = reply_->is_cancelled();
    output_.abandon();
    const std::string response =
        response_text({.status = is_cancelled ? "cancelled" : "failed", .error = &error});
    // A client that disconnected does not know its id; one that cancelled it, or asks later, does.
    keeper_.on_end(response, is_cancelled || options_.in_background);
    const bool has_client = !options_.streams && !options_.in_background;
    if (has_client && !is_cancelled) return reply_->send(error_response(error, Dialect::OpenAi));
    finish("response.failed", response);
  }

 private:
  ResponseOutput::Emit emitter() {
    if (!options_.streams) return {};
    return [this](std::string_view type, JsonWriter& event) { write_event(type, event); };
  }

  std::string response_text(const Outcome& outcome) const {
    JsonWriter json;
    json.begin_object().member("id", "resp_" + options_.name).member("object", "response");
    json.member("created_at", options_.created).member("status", outcome.status);
    json.key("completed_at");
    outcome.status == "completed" ? json.value(int64_t{std::time(nullptr)}) : json.value(nullptr);
    json.key("error");
    if (outcome.status == "failed") {
      json.begin_object().member("code", "server_error");
      json.member("message", outcome.error->what()).end_object();
    } else {
      json.value(nullptr);
    }
    json.key("incomplete_details");
    if (outcome.status == "incomplete") {
      json.begin_object().member("reason", "max_output_tokens").end_object();
    } else {
      json.value(nullptr);
    }
    json.member("model", options_.model).key("output");
    output_.write(json);
    if (outcome.usage != nullptr) write_response_usage(json, *outcome.usage);
    std::string text = json.end_object().text();
    text.insert(text.size() - 1, "," + options_.echo);
    return text;
  }

  // Sends the last event or the whole answer to the client.
  void finish(std::string_view type, const std::string& response) {
    if (options_.streams) {
      write_state(type, response);
      reply_->end();
    } else if (!options_.in_background) {
      reply_->send({.body = response});
    }
  }
  void write_state(std::string_view type, const std::string& response) {
    JsonWriter event;
    event.begin_object().key("response").raw(response);
    write_event(type, event);
  }
  void write_event(std::string_view type, JsonWriter& event) {
    event.member("type", type).member("sequence_number", events_++).end_object();
    reply_->write(event_text(event.text(), type));
  }

  const std::shared_ptr<RunningResponse> reply_;
  const ResponseWriterOptions options_;
  const ResponseKeeper keeper_;
  ResponseOutput output_;
  bool is_cut_ = false;
  int64_t events_ = 0;
};

}  // namespace

std::unique_ptr<AnswerWriter> make_response_writer(std::shared_ptr<RunningResponse> reply,
                                                   ResponseWriterOptions options,
                                                   ResponseKeeper keeper) {
  return std::make_unique<ResponseWriter>(std::move(reply), std::move(options), std::move(keeper));
}

}  // namespace pippin::server
