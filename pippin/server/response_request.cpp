#include "pippin/server/response_request.h"

#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/server/request_json.h"

namespace pippin::server {
namespace {

constexpr size_t kMaxMetadata = 16;
constexpr size_t kMaxIncludes = 64;

void check_metadata(const RequestFields& body) {
  const auto metadata = body.find("metadata");
  if (!metadata) return;
  read_field("metadata", [&] {
    if (!metadata->is_object()) metadata->invalid("expected an object");
    if (metadata->size() > kMaxMetadata) {
      metadata->invalid(
          fmt::format("{} keys, at most {} are taken", metadata->size(), kMaxMetadata));
    }
    for (const auto& [key, value] : metadata->members()) value.as_string();
    return 0;
  });
}

void read_text_field(const RequestFields& body, TextRequest& request) {
  const auto text = body.find("text");
  if (!text) return;
  if (!text->is_object()) throw ApiError(400, "text: expected an object", "text");
  const auto verbosity =
      read_field("text.verbosity", [&] { return text->find_string("verbosity"); });
  if (verbosity && *verbosity != "medium") {
    throw ApiError(400, "text.verbosity: only medium is supported", "text.verbosity");
  }
  const auto format = text->find("format");
  if (!format) return;
  auto form = read_response_format(*format, "text.format");
  if (!form) return;
  if (request.form) {
    throw ApiError(400,
                   "text.format: the answer's form is given by " + request.form->param + " already",
                   "text.format");
  }
  request.form = std::move(form);
  refuse_with_form(body, request);
}

void read_reasoning(const RequestFields& body, ResponseRequest& request) {
  const auto reasoning = body.find("reasoning");
  if (!reasoning) return;
  if (!reasoning->is_object()) throw ApiError(400, "reasoning: expected an object", "reasoning");
  read_field("reasoning", [&] {
    for (const char* name : {"effort", "summary"}) reasoning->find_string(name);
    request.hides_thoughts = reasoning->find_bool("exclude").value_or(false);
    return 0;
  });
}

// Reads the kinds of logprobs and thoughts that the client wants.
void read_include(const RequestFields& body, ResponseRequest& request) {
  const auto top = find_int(body, "top_logprobs", 0, kMaxTopLogprobs);
  for (const std::string& one : find_strings(body, "include", kMaxIncludes)) {
    if (one == "message.output_text.logprobs") request.text.top_logprobs = top.value_or(0);
    if (one == "reasoning.encrypted_content") request.seals_thoughts = true;
  }
  if (top.value_or(0) > 0 && request.text.top_logprobs < 0) {
    request.text.unheeded.emplace_back("top_logprobs");
  }
}

// Collects the kinds of tools that are not passed to the model.
void note_other_tools(const RequestFields& body, std::vector<std::string>& skipped) {
  const auto tools = body.find("tools");
  if (!tools) return;
  std::set<std::string> kinds;
  for (const Json& tool : tools->elements()) {
    kinds.insert(fmt::format("tools.{}", tool.get_string("type")));
  }
  kinds.erase("tools.function");
  skipped.insert(skipped.end(), kinds.begin(), kinds.end());
}

// Checks the members of a response that repeat the request's.
void check_echoed(const RequestFields& body) {
  for (const char* name : {"user", "safety_identifier", "prompt_cache_key"}) {
    find_string(body, name);
  }
  find_int(body, "max_tool_calls", 0);
}

void write_or(JsonWriter& json, const RequestFields& body, const char* name,
              std::string_view otherwise) {
  const auto value = body.find(name);
  json.key(name);
  value ? json.value(*value) : json.raw(otherwise);
}

// Writes the functions, even if none may be called.
void write_tools(JsonWriter& json, const RequestFields& body) {
  json.key("tools").begin_array();
  if (const auto tools = body.find("tools")) {
    for (const model_output::Tool& tool : model_output::read_response_tools(*tools)) {
      json.begin_object().member("type", "function").member("name", tool.name);
      json.member("description", tool.description).key("parameters").value(tool.parameters);
      json.member("strict", tool.is_strict).end_object();
    }
  }
  json.end_array();
}

}  // namespace

ResponseRequest read_response_request(const RequestFields& body) {
  ResponseRequest request;
  request.text = read_text_request(body);
  request.text.max_tokens = find_int(body, "max_tokens", 1).value_or(-1);
  read_text_field(body, request.text);
  read_reasoning(body, request);
  check_metadata(body);
  check_echoed(body);
  read_include(body, request);
  request.tools = read_response_tool_request(body);
  note_other_tools(body, request.tools.skipped);
  request.instructions = find_string(body, "instructions").value_or("");
  request.previous_id = find_string(body, "previous_response_id");
  request.is_stored = find_bool(body, "store").value_or(true);
  request.in_background = find_bool(body, "background").value_or(false);
  return request;
}

std::string echoed_request(const RequestFields& body, const ResponseRequest& request,
                           const ServedModel& model) {
  const runtime::SamplingOptions& defaults = model.loaded.config.sampling;
  const app::SamplingChoice& sampling = request.text.sampling;
  JsonWriter json;
  json.begin_object();
  write_or(json, body, "instructions", "null");
  json.key("max_output_tokens");
  const auto most = body.find("max_tokens");
  most ? json.value(*most) : json.value(nullptr);
  write_or(json, body, "max_tool_calls", "null");
  write_or(json, body, "metadata", "{}");
  json.member("parallel_tool_calls", request.tools.is_parallel);
  write_or(json, body, "previous_response_id", "null");
  write_or(json, body, "reasoning", R"({"effort":null,"summary":null})");
  json.member("store", request.is_stored).member("background", request.in_background);
  json.member("temperature", sampling.temperature.value_or(defaults.temperature));
  write_or(json, body, "text", R"({"format":{"type":"text"}})");
  write_or(json, body, "tool_choice", R"("auto")");
  write_tools(json, body);
  write_or(json, body, "top_logprobs", "0");
  json.member("top_p", sampling.top_p.value_or(defaults.top_p));
  json.member("truncation", "disabled");
  for (const char* name : {"user", "safety_identifier", "prompt_cache_key"}) {
    if (const auto value = body.find(name)) json.key(name).value(*value);
  }
  const std::string& text = json.end_object().text();
  return text.substr(1, text.size() - 2);
}

}  // namespace pippin::server
