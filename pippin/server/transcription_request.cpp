#include "pippin/server/transcription_request.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/numbers/number.h"
#include "pippin/http/multipart.h"
#include "pippin/server/api_error.h"
#include "pippin/server/request_json.h"
#include "pippin/speech/option_table.h"

namespace pippin::server {
namespace {

constexpr size_t kMaxFields = 100;

// Forms have only texts: fields of these types are converted.
constexpr std::string_view kNumbers[] = {
    "temperature",     "temperature_inc",    "beam_size",     "best_of",
    "length_penalty",  "patience",           "seed",          "no_speech_threshold",
    "no_speech_thold", "log_prob_threshold", "logprob_thold", "compression_ratio_threshold",
    "offset_t",        "offset_n",           "duration"};
constexpr std::string_view kSwitches[] = {"stream",
                                          "translate",
                                          "no_timestamps",
                                          "without_timestamps",
                                          "no_context",
                                          "vad_filter",
                                          "vad",
                                          "word_timestamps",
                                          "token_timestamps",
                                          "carry_initial_prompt",
                                          "diarize",
                                          "tinydiarize",
                                          "detect_language",
                                          "condition_on_previous_text"};

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void write_value(JsonWriter& json, const std::string& name, std::string_view text) {
  if (contains(kSwitches, name)) {
    if (text == "true" || text == "1" || text == "True") return void(json.value(true));
    if (text == "false" || text == "0" || text == "False") return void(json.value(false));
    throw ApiError(400, fmt::format("{}: \"{}\" is neither true nor false", name, text), name);
  }
  double number = 0;
  if (contains(kNumbers, name)) {
    if (!parse_number(text, number)) {
      throw ApiError(400, fmt::format("{}: \"{}\" is not a number", name, text), name);
    }
    const bool is_whole = number == std::floor(number) && std::abs(number) < 1e15;
    if (is_whole) return void(json.value(static_cast<int64_t>(number)));
    return void(json.value(number));
  }
  json.value(text);
}

// Returns the texts of a form as JSON; a name that ends in [] is a list. Empty texts are absent
// fields.
Json fields_of(const std::vector<http::FormPart>& parts) {
  std::map<std::string, std::vector<std::string_view>> values;
  for (const http::FormPart& part : parts) {
    if (!part.file_name && !part.content.empty()) values[part.name].push_back(part.content);
  }
  if (values.size() > kMaxFields) {
    throw ApiError(400, fmt::format("{} fields, at most {}", values.size(), kMaxFields));
  }
  JsonWriter json;
  json.begin_object();
  for (const auto& [key, texts] : values) {
    const bool is_list = key.ends_with("[]");
    const std::string name = is_list ? key.substr(0, key.size() - 2) : key;
    if (!is_list && texts.size() > 1) {
      throw ApiError(400, fmt::format("{}: given {} times", name, texts.size()), name);
    }
    json.key(name);
    if (is_list) json.begin_array();
    for (const std::string_view text : texts) write_value(json, name, text);
    if (is_list) json.end_array();
  }
  json.end_object();
  try {
    return Json::parse(json.text(), "request");
  } catch (const Error& error) {
    throw ApiError(400, fmt::format("the form's texts: {}", error.what()));
  }
}

TranscriptionForm read_form_of(const RequestFields& fields) {
  constexpr std::pair<std::string_view, TranscriptionForm> kForms[] = {
      {"json", TranscriptionForm::Json},
      {"text", TranscriptionForm::Text},
      {"srt", TranscriptionForm::Srt},
      {"vtt", TranscriptionForm::Vtt},
      {"verbose_json", TranscriptionForm::VerboseJson}};
  const std::string wanted = find_string(fields, "response_format").value_or("json");
  for (const auto& [name, form] : kForms) {
    if (name == wanted) return form;
  }
  throw ApiError(
      400,
      fmt::format("response_format: \"{}\" is not json, text, srt, verbose_json or vtt", wanted),
      "response_format");
}

void read_granularities(const RequestFields& fields, TranscriptionRequest& request) {
  constexpr size_t kMost = 2;
  const auto names = find_strings(fields, "timestamp_granularities", kMost);
  if (names.empty()) return;
  request.with_segments = false;
  for (const std::string& name : names) {
    if (name == "word") {
      request.options.word_timestamps = true;
    } else if (name == "segment") {
      request.with_segments = true;
    } else {
      throw ApiError(
          400, fmt::format("timestamp_granularities: \"{}\" is neither word nor segment", name),
          "timestamp_granularities");
    }
  }
  if (request.form != TranscriptionForm::VerboseJson) {
    throw ApiError(400, "timestamp_granularities: needs the response_format verbose_json",
                   "timestamp_granularities");
  }
}

// The temperatures from the given one up to 1, which are tried in order.
void read_temperatures(const RequestFields& fields, speech::TranscribeOptions& options) {
  const double first = find_number(fields, "temperature").value_or(0);
  const double step = find_number(fields, "temperature_inc").value_or(0.2);
  if (!(first >= 0 && first <= 1)) {
    throw ApiError(400, fmt::format("temperature: {} is not from 0 to 1", first), "temperature");
  }
  if (!(step >= 0 && step <= 1)) {
    throw ApiError(400, fmt::format("temperature_inc: {} is not from 0 to 1", step),
                   "temperature_inc");
  }
  read_field("temperature_inc",
             [&] { options.temperatures = speech::fallback_temperatures(first, step); });
}

void read_language(const RequestFields& fields, speech::TranscribeOptions& options) {
  const auto language = find_string(fields, "language");
  if (!language) return;
  read_field("language", [&] { speech::set_language(options, *language); });
}

void read_options(const RequestFields& fields, speech::TranscribeOptions& options) {
  constexpr int64_t kMostBeams = 16;
  read_temperatures(fields, options);
  read_language(fields, options);
  const auto take = [](auto& option, const auto& given) {
    if (given) option = *given;
  };
  take(options.initial_prompt, find_string(fields, "prompt"));
  take(options.hotwords, find_string(fields, "hotwords"));
  // Below 1: greedy decoding, as whisper.cpp's -1.
  const auto beams = find_int(fields, "beam_size", -1, kMostBeams);
  if (beams && *beams > 1) options.beam_size = *beams;
  if (const auto count = find_int(fields, "best_of", -1, kMostBeams); count && *count > 0) {
    options.best_of = *count;
  }
  take(options.length_penalty, find_number(fields, "length_penalty"));
  take(options.patience, find_number(fields, "patience"));
  take(options.no_speech_threshold, find_number(fields, "no_speech_threshold"));
  take(options.logprob_threshold, find_number(fields, "log_prob_threshold"));
  take(options.compression_ratio_threshold, find_number(fields, "compression_ratio_threshold"));
  take(options.without_timestamps, find_bool(fields, "without_timestamps"));
  take(options.carry_initial_prompt, find_bool(fields, "carry_initial_prompt"));
  take(options.condition_on_previous_text, find_bool(fields, "condition_on_previous_text"));
  if (find_bool(fields, "no_context").value_or(false)) options.condition_on_previous_text = false;
  if (const auto seed = find_int(fields, "seed", 0)) options.seed = static_cast<uint64_t>(*seed);
}

}  // namespace

TranscriptionRequest read_transcription(const http::Request& request, FieldsOf endpoint) {
  const std::string_view type = request.header("content-type");
  if (!http::is_form(type)) {
    throw ApiError(415, "the request must be a form with a file (multipart/form-data)");
  }
  const std::vector<http::FormPart> parts =
      read_field("", [&] { return http::parse_form(type, request.body); });
  TranscriptionRequest result{.fields = {fields_of(parts), endpoint}};
  const auto is_file = [](const http::FormPart& part) { return part.name == "file"; };
  const auto file = std::find_if(parts.begin(), parts.end(), is_file);
  if (file == parts.end()) throw ApiError(400, "file: is missing", "file");
  if (std::count_if(parts.begin(), parts.end(), is_file) > 1) {
    throw ApiError(400, "file: there are several, send one per request", "file");
  }
  result.file = file->content;
  result.file_name = file->file_name.value_or("file");
  if (result.file_name.empty()) result.file_name = "file";
  const RequestFields& fields = result.fields;
  result.form = read_form_of(fields);
  result.streams = find_bool(fields, "stream").value_or(false);
  if (result.streams && result.form != TranscriptionForm::Json &&
      result.form != TranscriptionForm::Text) {
    throw ApiError(400, "stream: needs the response_format json or text", "stream");
  }
  read_options(fields, result.options);
  read_granularities(fields, result);
  if (find_bool(fields, "word_timestamps").value_or(false)) result.options.word_timestamps = true;
  if (endpoint == kTranslations || find_bool(fields, "translate").value_or(false)) {
    result.options.task = speech::Task::Translate;
  }
  read_field("", [&] { result.options.check(); });
  return result;
}

}  // namespace pippin::server
