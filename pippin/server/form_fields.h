// Fields that prescribe the form of an answer: OpenAI's response_format and its equivalents in
// other servers.
#pragma once

#include <optional>
#include <string>

#include "pippin/app/answer_form.h"
#include "pippin/server/request_fields.h"

namespace pippin::server {

struct FormField {
  app::AnswerForm form;
  std::string param;  // the field that asked for it
};

// Reads response_format, json_schema, grammar, guided_json, guided_regex, guided_choice,
// guided_grammar and structured_outputs. Throws ApiError(400) for invalid values, and for two of
// these fields.
std::optional<FormField> read_form(const RequestFields& body);
// Reads an OpenAI format, {"type": "json_schema", ...}; returns nothing for text. Errors name
// `param`.
std::optional<FormField> read_response_format(const Json& format, const std::string& param);
// Reads output_format or output_config.format of Anthropic's endpoint. Throws ApiError(400).
std::optional<FormField> read_anthropic_form(const RequestFields& body);

}  // namespace pippin::server
