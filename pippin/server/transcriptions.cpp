// POST /v1/audio/transcriptions and /v1/audio/translations, in OpenAI's form, and /inference, in
// whisper.cpp's.
#include <cmath>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/byte_span.h"
#include "pippin/server/endpoints.h"
#include "pippin/server/event_stream.h"
#include "pippin/server/request_json.h"
#include "pippin/server/transcription_request.h"
#include "pippin/sound/sound_reader.h"
#include "pippin/speech/segments.h"
#include "pippin/speech/writers/formats.h"

namespace pippin::server {
namespace {

void write_usage(JsonWriter& json, const speech::Transcription& transcription) {
  json.key("usage").begin_object().member("type", "duration");
  json.member("seconds", static_cast<int64_t>(std::ceil(transcription.duration))).end_object();
}

http::Response whole_answer(const TranscriptionRequest& request,
                            const speech::Transcription& transcription) {
  switch (request.form) {
    case TranscriptionForm::Text:
      return {.content_type = "text/plain; charset=utf-8",
              .body = fmt::format("{}\n", speech::trimmed(transcription.text))};
    case TranscriptionForm::Srt:
      return {.content_type = "text/plain; charset=utf-8", .body = write_srt(transcription)};
    case TranscriptionForm::Vtt:
      return {.content_type = "text/plain; charset=utf-8", .body = write_vtt(transcription)};
    case TranscriptionForm::VerboseJson:
      return {.body = write_json(transcription, {.with_segments = request.with_segments,
                                                 .with_words = request.options.word_timestamps})};
    case TranscriptionForm::Json:
      break;
  }
  JsonWriter json;
  json.begin_object().member("text", speech::trimmed(transcription.text));
  write_usage(json, transcription);
  return {.body = json.end_object().text()};
}

// Writes OpenAI's events of a transcription: the text of each segment, then the whole.
class TranscriptionStream {
 public:
  TranscriptionStream(Endpoints::Replying reply, std::chrono::milliseconds silence)
      : reply_(std::move(reply)) {
    begin_events(*reply_, silence);
  }
  void add(std::string_view text) {
    if (is_first_) text = speech::trimmed(text);
    is_first_ = is_first_ && text.empty();
    if (text.empty()) return;
    JsonWriter json;
    json.begin_object().member("type", "transcript.text.delta").member("delta", text).end_object();
    reply_->write(event_text(json.text()));
  }
  void end(const speech::Transcription& transcription) {
    JsonWriter json;
    json.begin_object().member("type", "transcript.text.done");
    json.member("text", speech::trimmed(transcription.text));
    write_usage(json, transcription);
    reply_->write(event_text(json.end_object().text()));
    reply_->end();
  }
  void fail(const ApiError& error) {
    reply_->write(event_text(error_body(error, Dialect::OpenAi), "error"));
    reply_->end();
  }

 private:
  Endpoints::Replying reply_;
  bool is_first_ = true;
};

// Throws ApiError for options that the model does not take, by the names of their fields.
void refuse_options(const OpenedModel& opened, const TranscriptionRequest& request) {
  const auto name = opened.speech->refused_option(request.options);
  if (!name) return;
  const std::string field = *name == "task" ? "translate" : request.fields.spelling(*name);
  throw ApiError(400, fmt::format("{}: the model \"{}\" does not take it", field, opened.name),
                 field);
}

}  // namespace

void Endpoints::transcriptions(const http::Request& request, const Replying& reply) {
  transcribe(request, kTranscriptions, reply);
}

void Endpoints::translations(const http::Request& request, const Replying& reply) {
  transcribe(request, kTranslations, reply);
}

void Endpoints::inference(const http::Request& request, const Replying& reply) {
  transcribe(request, kInference, reply);
}

void Endpoints::transcribe(const http::Request& request, FieldsOf endpoint, const Replying& reply) {
  auto wanted = std::make_shared<TranscriptionRequest>(read_transcription(request, endpoint));
  reply->note_ignored(wanted->fields.ignored());
  const OpenedModel opened = open_any(wanted->fields, reply);
  if (opened.speech == nullptr) {
    throw ApiError(400, "the model \"" + opened.name + "\" does not take recordings", "model");
  }
  refuse_options(opened, *wanted);
  if (wanted->options.vad_filter && !opened.speech->finds_voice()) {
    const std::string field = wanted->fields.spelling("vad_filter");
    throw ApiError(400, field + ": the server has no model of voice (pippin serve --vad)", field);
  }
  if (wanted->options.word_timestamps && !opened.speech->finds_words()) {
    throw ApiError(400, "the model \"" + opened.name + "\" does not find the times of words",
                   "timestamp_granularities");
  }
  // Decoded here, so that a wrong file is refused before others are waited for.
  auto samples = std::make_shared<std::vector<float>>(read_field("file", [&] {
    return sound::read_sound(as_byte_span(wanted->file), wanted->file_name,
                             opened.speech->sampling_rate());
  }));
  wanted->file = {};
  const auto job = [this, wanted, opened, samples, reply] {
    std::optional<TranscriptionStream> stream;
    try {
      if (wanted->streams) stream.emplace(reply, silence_);
      speech::Events events;
      events.segment = [&](const speech::Segment& segment) {
        if (stream) stream->add(segment.text);
      };
      const speech::Transcription transcription = transcriptions_.run(
          *reply, [&] { return opened.speech->transcribe(*samples, wanted->options, events); });
      models_.check_files(opened);
      if (stream) return stream->end(transcription);
      reply->send(whole_answer(*wanted, transcription));
    } catch (...) {
      const ApiError error = api_error(std::current_exception());
      if (stream) return stream->fail(error);
      reply->send(error_response(error, Dialect::OpenAi));
    }
  };
  if (!transcriptions_.add(job)) throw ApiError(503, "too many transcriptions wait");
}

}  // namespace pippin::server
