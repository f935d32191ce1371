#include "pippin/server/form_fields.h"

#include <string_view>
#include <utility>

#include "pippin/server/api_error.h"
#include "pippin/server/request_json.h"

namespace pippin::server {
namespace {

using Kind = app::AnswerForm::Kind;

[[noreturn]] void refuse(const std::string& param, const std::string& what) {
  throw ApiError(400, param + ": " + what, param);
}

// Reads a schema: an object, or its text.
FormField schema_form(const Json& schema, const std::string& param) {
  FormField field{{.kind = Kind::JsonSchema}, param};
  if (schema.is_string()) {
    field.form.text = schema.as_string();
    read_field(param, [&] { return Json::parse(field.form.text, param); });
  } else if (schema.is_object() || schema.is_bool()) {
    field.form.text = schema.dump();
  } else {
    refuse(param, "expected a JSON Schema");
  }
  return field;
}

FormField text_form(Kind kind, const Json& value, const std::string& param) {
  if (!value.is_string()) refuse(param, "expected a string");
  return {{.kind = kind, .text = std::string(value.as_string())}, param};
}

FormField choice_form(const Json& value, const std::string& param) {
  FormField field{{.kind = Kind::Choice}, param};
  field.form.choices = read_field(param, [&] { return value.as_strings(); });
  if (field.form.choices.empty()) refuse(param, "there is nothing to choose from");
  return field;
}

std::optional<FormField> read_structured_outputs(const Json& outputs) {
  const std::string param = "structured_outputs";
  if (!outputs.is_object()) refuse(param, "expected an object");
  if (outputs.has("json")) return schema_form(outputs.at("json"), param);
  if (outputs.has("regex")) return text_form(Kind::Regex, outputs.at("regex"), param);
  if (outputs.has("choice")) return choice_form(outputs.at("choice"), param);
  if (outputs.has("grammar")) return text_form(Kind::Grammar, outputs.at("grammar"), param);
  if (find_bool(outputs, "json_object").value_or(false))
    return FormField{{.kind = Kind::JsonObject}, param};
  refuse(param, "expected json, regex, choice, grammar or json_object");
}

// Reads ollama's field: "json", or a schema.
FormField read_format(const Json& format) {
  const std::string param = "format";
  if (!format.is_string()) return schema_form(format, param);
  if (format.as_string() != "json") refuse(param, "expected \"json\" or a JSON Schema");
  return {{.kind = Kind::JsonObject}, param};
}

}  // namespace

std::optional<FormField> read_response_format(const Json& format, const std::string& param) {
  if (!format.is_object()) refuse(param, "expected an object");
  const std::string type =
      read_field(param, [&] { return format.find_string("type"); }).value_or("");
  if (type == "text") return std::nullopt;
  if (type == "json_object") {
    // llama.cpp's users put a schema next to the type.
    if (format.has("schema")) return schema_form(format.at("schema"), param);
    return FormField{{.kind = Kind::JsonObject}, param};
  }
  if (type == "json_schema") {
    const auto inner = format.find("json_schema");
    if (inner && inner->is_object() && inner->has("schema"))
      return schema_form(inner->at("schema"), param);
    if (format.has("schema")) return schema_form(format.at("schema"), param);
    refuse(param, "schema (or json_schema.schema) is missing");
  }
  if (type == "regex" && format.has("pattern"))
    return text_form(Kind::Regex, format.at("pattern"), param);
  if (type == "grammar" && format.has("grammar"))
    return text_form(Kind::Grammar, format.at("grammar"), param);
  refuse(param, "the type \"" + type + "\" is not text, json_object or json_schema");
}

std::optional<FormField> read_form(const RequestFields& body) {
  std::optional<FormField> found;
  const auto take = [&](std::optional<FormField> field) {
    if (!field.has_value()) return;
    if (found.has_value())
      refuse(field->param, "the answer's form is given by " + found->param + " already");
    found = std::move(field);
  };
  const auto given = [&](const char* name) {
    const auto value = body.find(name);
    // Some clients send empty fields.
    return value.has_value() && !(value->is_string() && value->as_string().empty()) ? value
                                                                                    : std::nullopt;
  };
  const auto spelled = [&](const char* name) { return body.spelling(name); };
  if (const auto value = given("response_format")) {
    take(read_response_format(*value, "response_format"));
  }
  if (const auto value = given("json_schema")) take(schema_form(*value, spelled("json_schema")));
  if (const auto value = given("guided_json")) take(schema_form(*value, spelled("guided_json")));
  if (const auto value = given("format")) take(read_format(*value));
  if (const auto value = given("grammar"))
    take(text_form(Kind::Grammar, *value, spelled("grammar")));
  if (const auto value = given("guided_grammar"))
    take(text_form(Kind::Grammar, *value, spelled("guided_grammar")));
  if (const auto value = given("guided_regex"))
    take(text_form(Kind::Regex, *value, spelled("guided_regex")));
  if (const auto value = given("guided_choice"))
    take(choice_form(*value, spelled("guided_choice")));
  if (const auto value = given("structured_outputs")) take(read_structured_outputs(*value));
  return found;
}

std::optional<FormField> read_anthropic_form(const RequestFields& body) {
  std::string param = "output_format";
  auto format = body.find(param);
  if (const auto config = body.find("output_config")) {
    if (!config->is_object()) refuse("output_config", "expected an object");
    if (const auto inner = config->find("format")) {
      param = "output_config";
      format = inner;
    }
  }
  if (!format) return std::nullopt;
  if (!format->is_object()) refuse(param, "expected an object");
  const std::string type = find_string(*format, "type").value_or("");
  if (type != "json_schema") refuse(param, "the type \"" + type + "\" is not json_schema");
  const auto schema = format->find("schema");
  if (!schema) refuse(param, "schema is missing");
  return schema_form(*schema, param);
}

}  // namespace pippin::server
