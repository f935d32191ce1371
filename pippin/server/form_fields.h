// What a request wants its answer to be: response_format of OpenAI, and the fields that other
// servers have for it.
#pragma once

#include <optional>
#include <string>

#include "pippin/app/answer_form.h"
#include "pippin/server/request_fields.h"

namespace pippin::server {

struct FormField {
  app::AnswerForm form;
  std::string param;  // which field it was
};

// response_format, json_schema, grammar, guided_json, guided_regex, guided_choice, guided_grammar
// and structured_outputs. Throws ApiError(400) for what is wrong, and for two of them.
std::optional<FormField> read_form(const RequestFields& body);
// An OpenAI format by itself, {"type": "json_schema", ...}; nothing for text. Errors name `param`.
std::optional<FormField> read_response_format(const Json& format, const std::string& param);
// output_format of Anthropic's endpoint, or output_config.format. Throws ApiError(400).
std::optional<FormField> read_anthropic_form(const RequestFields& body);

}  // namespace pippin::server
