#include "pippin/repl/dialogue.h"

#include <algorithm>
#include <array>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/numbers/number.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/repl/image_paths.h"

namespace pippin::repl {
namespace {

// Parameters that constrain answers.
constexpr std::array<const char*, 4> kForms = {"response_format", "grammar", "guided_regex",
                                               "guided_choice"};

enum class Kind { Integer, Number, Texts, Switch };
struct Parameter {
  std::string_view name, field;
  Kind kind;
};
// Parameter names of ollama, llama.cpp and OpenAI, and the request field of each.
constexpr std::array<Parameter, 25> kParameters = {{
    {"temperature", "temperature", Kind::Number},
    {"temp", "temperature", Kind::Number},
    {"top_k", "top_k", Kind::Integer},
    {"top_p", "top_p", Kind::Number},
    {"min_p", "min_p", Kind::Number},
    {"typical_p", "typical_p", Kind::Number},
    {"seed", "seed", Kind::Integer},
    {"num_predict", "max_completion_tokens", Kind::Integer},
    {"max_tokens", "max_completion_tokens", Kind::Integer},
    {"max_completion_tokens", "max_completion_tokens", Kind::Integer},
    {"stop", "stop", Kind::Texts},
    {"repeat_penalty", "repeat_penalty", Kind::Number},
    {"repeat_last_n", "repeat_last_n", Kind::Integer},
    {"presence_penalty", "presence_penalty", Kind::Number},
    {"frequency_penalty", "frequency_penalty", Kind::Number},
    {"mirostat_tau", "mirostat_tau", Kind::Number},
    {"mirostat_eta", "mirostat_eta", Kind::Number},
    {"xtc_probability", "xtc_probability", Kind::Number},
    {"xtc_threshold", "xtc_threshold", Kind::Number},
    {"dry_multiplier", "dry_multiplier", Kind::Number},
    {"dry_base", "dry_base", Kind::Number},
    {"dry_allowed_length", "dry_allowed_length", Kind::Integer},
    {"dry_penalty_last_n", "dry_penalty_last_n", Kind::Integer},
    {"dry_sequence_breakers", "dry_sequence_breakers", Kind::Texts},
    {"ignore_eos", "ignore_eos", Kind::Switch},
}};

const Parameter* find(std::string_view name) {
  const auto found = std::find_if(kParameters.begin(), kParameters.end(),
                                  [&](const Parameter& known) { return known.name == name; });
  return found == kParameters.end() ? nullptr : &*found;
}

std::string as_json(const Parameter& parameter, const std::vector<std::string>& values) {
  JsonWriter json;
  if (parameter.kind == Kind::Texts) {
    if (std::find(values.begin(), values.end(), "") != values.end()) {
      fail(ErrorCode::InvalidArgument, "{}: a text is empty", parameter.name);
    }
    return json.value(values).text();
  }
  const std::string& value = values.back();
  if (parameter.kind == Kind::Switch) {
    if (value == "true" || value == "false") return value;
    fail(ErrorCode::InvalidArgument, "{}: \"{}\" is neither true nor false", parameter.name, value);
  }
  if (parameter.kind == Kind::Integer) {
    int64_t number = 0;
    if (values.size() == 1 && parse_number(value, number)) return json.value(number).text();
  } else {
    double number = 0;
    if (values.size() == 1 && parse_number(value, number)) return json.value(number).text();
  }
  fail(ErrorCode::InvalidArgument, "{}: \"{}\" is not {}", parameter.name, value,
       parameter.kind == Kind::Integer ? "an integer" : "a number");
}

// Reads the texts and images of a list of parts.
void read_parts(const Json& parts, Turn& turn) {
  for (const Json& part : parts.elements()) {
    const std::string type = part.get_string("type");
    if (type == "image_url" || type == "video_url") {
      turn.images.push_back(part.at(type).get_string("url"));
    } else if (type == "text") {
      if (!turn.content.empty()) turn.content += '\n';
      turn.content += part.get_string("text");
    } else {
      part.invalid("parts of type \"" + type + "\" are not supported: text, image_url, video_url");
    }
  }
}

void write_content(JsonWriter& json, const Turn& turn) {
  if (turn.images.empty()) {
    json.member("content", turn.content);
    return;
  }
  json.key("content").begin_array();
  for (const std::string& url : turn.images) {
    const char* const type = url.starts_with(kVideoUrl) ? "video_url" : "image_url";
    json.begin_object().member("type", type).key(type).begin_object();
    json.member("url", url).end_object().end_object();
  }
  if (!turn.content.empty()) {
    json.begin_object().member("type", "text").member("text", turn.content).end_object();
  }
  json.end_array();
}

Turn read_turn(const Json& message) {
  Turn turn{message.get_string("role"), {}, message.get_string_or("reasoning_content", "")};
  if (turn.role != "user" && turn.role != "assistant" && turn.role != "tool") {
    message.invalid("role \"" + turn.role + "\" is not a role of a chat: user, assistant, tool");
  }
  if (const auto calls = message.find("tool_calls")) {
    for (const Json& call : calls->elements()) {
      const Json function = call.at("function");
      turn.calls.push_back({call.get_string("id"), function.get_string("name"),
                            function.get_string_or("arguments", "")});
    }
  }
  turn.call_id = message.get_string_or("tool_call_id", "");
  const auto content = message.find("content");
  if (content && content->is_array()) {
    read_parts(*content, turn);
  } else {
    turn.content =
        turn.calls.empty() ? message.get_string("content") : message.get_string_or("content", "");
  }
  return turn;
}

void write_calls(JsonWriter& json, const std::vector<ToolCall>& calls) {
  json.key("tool_calls").begin_array();
  for (const ToolCall& call : calls) {
    json.begin_object().member("id", call.id).member("type", "function");
    json.key("function").begin_object().member("name", call.name);
    json.member("arguments", call.arguments).end_object().end_object();
  }
  json.end_array();
}

}  // namespace

void Dialogue::set_parameter(const std::string& name, const std::vector<std::string>& values) {
  const Parameter* const parameter = find(name);
  if (parameter == nullptr) {
    fail(ErrorCode::InvalidArgument, "unknown parameter \"{}\"", name);
  }
  if (values.empty()) {
    parameters.erase(std::string(parameter->field));
  } else {
    parameters[std::string(parameter->field)] = as_json(*parameter, values);
  }
}

void Dialogue::set_form(const std::string& field, const std::string& json) {
  for (const char* one : kForms) parameters.erase(one);
  if (!field.empty()) parameters[field] = json;
}

std::vector<std::string> Dialogue::parameter_names() {
  std::vector<std::string> names;
  names.reserve(kParameters.size());
  for (const Parameter& parameter : kParameters) names.emplace_back(parameter.name);
  return names;
}

void Dialogue::write_messages(JsonWriter& json) const {
  json.key("messages").begin_array();
  if (!system.empty()) {
    json.begin_object().member("role", "system").member("content", system).end_object();
  }
  for (const Turn& turn : turns) {
    json.begin_object().member("role", turn.role);
    write_content(json, turn);
    if (!turn.reasoning.empty()) json.member("reasoning_content", turn.reasoning);
    if (!turn.call_id.empty()) json.member("tool_call_id", turn.call_id);
    if (!turn.calls.empty()) write_calls(json, turn.calls);
    json.end_object();
  }
  json.end_array();
}

void Dialogue::write_settings(JsonWriter& json) const {
  for (const auto& [name, value] : parameters) json.key(name).raw(value);
}

void Dialogue::write_request(JsonWriter& json, bool continues) const {
  write_messages(json);
  write_settings(json);
  if (!tools.empty()) json.key("tools").raw(tools);
  if (thinking == "on" || thinking == "off") {
    json.key("chat_template_kwargs").begin_object();
    json.member("enable_thinking", thinking == "on").end_object();
  } else if (!thinking.empty()) {
    json.member("reasoning_effort", thinking);
  }
  if (continues) json.member("continue_final_message", true);
}

std::string Dialogue::plain_text() const {
  std::string text = system;
  for (const Turn& turn : turns) text += turn.content;
  return text;
}

void Dialogue::save(const std::filesystem::path& path, const std::string& model) const {
  JsonWriter json(2);
  json.begin_object().member("model", model);
  write_request(json, false);
  write_file(path, json.end_object().text() + "\n");
}

void Dialogue::load(const std::filesystem::path& path) {
  const Json file = Json::load(path);
  Dialogue loaded;
  for (const Json& message : file.at("messages").elements()) {
    const std::string role = message.get_string("role");
    const bool is_system = role == "system" || role == "developer";
    if (is_system && loaded.turns.empty() && loaded.system.empty()) {
      loaded.system = message.get_string("content");
    } else {
      loaded.turns.push_back(read_turn(message));
    }
  }
  for (const auto& [name, value] : file.members()) {
    const Parameter* const parameter = find(name);
    if (parameter != nullptr && parameter->field == name) {
      loaded.parameters[std::string(name)] = value.dump();
    }
    if (ranges::contains(kForms, name)) {
      loaded.set_form(std::string(name), value.dump());
    }
  }
  loaded.thinking = file.get_string_or("reasoning_effort", "");
  if (const auto more = file.find("chat_template_kwargs")) {
    if (const auto is_on = more->find_bool("enable_thinking")) {
      loaded.thinking = *is_on ? "on" : "off";
    }
  }
  *this = std::move(loaded);
}

}  // namespace pippin::repl
