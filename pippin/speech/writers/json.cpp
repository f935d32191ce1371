#include "pippin/io/json.h"

#include "pippin/speech/languages.h"
#include "pippin/speech/segments.h"
#include "pippin/speech/writers/formats.h"

namespace pippin::speech {
namespace {

void write_segment(JsonWriter& json, const Segment& segment, bool has_words) {
  json.begin_object();
  json.member("id", segment.id).member("seek", segment.seek);
  json.member("start", segment.start).member("end", segment.end);
  json.member("text", segment.text).member("tokens", segment.tokens);
  json.member("temperature", segment.temperature).member("avg_logprob", segment.avg_logprob);
  json.member("compression_ratio", segment.compression_ratio);
  json.member("no_speech_prob", segment.no_speech_prob);
  if (has_words) {
    json.key("words").begin_array();
    for (const Word& word : segment.words) {
      json.begin_object().member("word", word.text).member("start", word.start);
      json.member("end", word.end).member("probability", word.probability).end_object();
    }
    json.end_array();
  }
  json.end_object();
}

}  // namespace

std::string write_json(const Transcription& transcription, const JsonOptions& options) {
  constexpr int kIndent = 2, kOneLine = -1;
  JsonWriter json(options.in_one_line ? kOneLine : kIndent);
  json.begin_object();
  json.member("task", transcription.task == Task::Translate ? "translate" : "transcribe");
  json.member("language", language_name(transcription.language));
  json.member("duration", transcription.duration);
  json.member("text", trimmed(transcription.text));
  bool has_words = options.with_words;
  for (const Segment& segment : transcription.segments) has_words |= !segment.words.empty();
  if (options.with_segments) {
    json.key("segments").begin_array();
    for (const Segment& segment : transcription.segments) write_segment(json, segment, has_words);
    json.end_array();
  }
  if (has_words) {
    json.key("words").begin_array();
    for (const Segment& segment : transcription.segments) {
      for (const Word& word : segment.words) {
        json.begin_object().member("word", trimmed(word.text)).member("start", word.start);
        json.member("end", word.end).end_object();
      }
    }
    json.end_array();
  }
  return json.end_object().text() + "\n";
}

}  // namespace pippin::speech
