#include "pippin/server/transcription_request.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
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

// Forms have only texts. Fields of these types, and the options of their types in the table of
// speech/option_table.h, are converted.
constexpr std::string_view kNumbers[] = {"temperature", "temperature_inc", "offset_t", "offset_n",
                                         "duration"};
constexpr std::string_view kSwitchFields[] = {"stream",          "translate",   "no_context",
                                              "diarize",         "tinydiarize", "detect_language",
                                              "token_timestamps"};

enum class FieldType : uint8_t { Text, Number, Switch };

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

FieldType type_of(std::string_view name, FieldsOf endpoint) {
  if (contains(kNumbers, name)) return FieldType::Number;
  if (contains(kSwitchFields, name)) return FieldType::Switch;
  const FieldRule* const rule = find_rule(name, endpoint);
  if (rule == nullptr) return FieldType::Text;
  const std::string_view meaning = rule->meaning.empty() ? name : rule->meaning;
  for (const speech::TranscribeOption& known : speech::transcribe_options()) {
    if (known.name != meaning) continue;
    return std::visit(
        [](auto member) {
          using Value = std::remove_cvref_t<decltype(speech::TranscribeOptions().*member)>;
          if (std::is_same_v<Value, bool>) return FieldType::Switch;
          if (std::is_arithmetic_v<Value> || std::is_same_v<Value, std::optional<double>>) {
            return FieldType::Number;
          }
          return FieldType::Text;
        },
        known.member);
  }
  return FieldType::Text;
}

void write_value(JsonWriter& json, const std::string& name, std::string_view text, FieldType type) {
  if (type == FieldType::Switch) {
    if (text == "true" || text == "1" || text == "True") return void(json.value(true));
    if (text == "false" || text == "0" || text == "False") return void(json.value(false));
    throw ApiError(400, fmt::format("{}: \"{}\" is neither true nor false", name, text), name);
  }
  if (type == FieldType::Number) {
    double number = 0;
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
Json fields_of(const std::vector<http::FormPart>& parts, FieldsOf endpoint) {
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
    const FieldType type = type_of(name, endpoint);
    for (const std::string_view text : texts) write_value(json, name, text, type);
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

template <typename T>
void take(T& option, const std::optional<T>& given) {
  if (given) option = *given;
}
void read(const RequestFields& fields, std::string_view name, bool& option) {
  take(option, find_bool(fields, name));
}
void read(const RequestFields& fields, std::string_view name, std::string& option) {
  take(option, find_string(fields, name));
}
void read(const RequestFields& fields, std::string_view name, double& option) {
  take(option, find_number(fields, name));
}
void read(const RequestFields& fields, std::string_view name, std::optional<double>& option) {
  if (const auto given = find_number(fields, name)) option = given;
}
void read(const RequestFields& fields, std::string_view name, uint64_t& option) {
  if (const auto given = find_int(fields, name, 0)) option = static_cast<uint64_t>(*given);
}
// Numbers of beams and samples: each takes time and memory. Below 1: the default, which for beams
// is greedy decoding, as whisper.cpp's -1.
void read(const RequestFields& fields, std::string_view name, int64_t& option) {
  constexpr int64_t kMost = 16;
  if (const auto given = find_int(fields, name, -1, kMost); given && *given > 0) option = *given;
}
// Lists have no fields.
template <typename T>
void read(const RequestFields& /*fields*/, std::string_view /*name*/, std::vector<T>& /*option*/) {}

void read_options(const RequestFields& fields, speech::TranscribeOptions& options) {
  read_temperatures(fields, options);
  read_language(fields, options);
  for (const speech::TranscribeOption& known : speech::transcribe_options()) {
    std::visit([&](auto member) { read(fields, known.name, options.*member); }, known.member);
  }
  if (options.beam_size == 1) options.beam_size = 0;  // greedy
  if (find_bool(fields, "no_context").value_or(false)) options.condition_on_previous_text = false;
}

}  // namespace

TranscriptionRequest read_transcription(const http::Request& request, FieldsOf endpoint) {
  const std::string_view type = request.header("content-type");
  if (!http::is_form(type)) {
    throw ApiError(415, "the request must be a form with a file (multipart/form-data)");
  }
  const std::vector<http::FormPart> parts =
      read_field("", [&] { return http::parse_form(type, request.body); });
  TranscriptionRequest result{.fields = {fields_of(parts, endpoint), endpoint}};
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
  if (endpoint == kTranslations || find_bool(fields, "translate").value_or(false)) {
    result.options.task = speech::Task::Translate;
  }
  read_field("", [&] { result.options.check(); });
  return result;
}

}  // namespace pippin::server
