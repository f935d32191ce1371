// Thinking effort: the fields of all dialects, as variables of the model's template.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pippin/chat/chat_template.h"
#include "pippin/chat/value.h"
#include "pippin/server/model_list.h"
#include "pippin/server/request_fields.h"

namespace pippin::server {

// Levels of reasoning_effort to try with the template, in this order; a null level leaves it out.
using Efforts = std::vector<std::optional<std::string>>;

// The field of an effort that Anthropic's clients send even if the model does not support it.
constexpr const char* kEffortHint = "output_config.effort";

// Sets reasoning_effort or the template's switch from reasoning_effort, reasoning, think,
// enable_thinking, thinking and output_config. `unheeded` gets the fields that the template does
// not support. Returns the levels for kEffortHint; none if there is no such field, or if a switch
// follows it. Throws ApiError(400).
Efforts set_thinking(const ServedModel& model, const RequestFields& body, chat::Dict& context,
                     std::vector<std::string>& unheeded);

// Returns the variable that turns thoughts on and off in this template; empty: none.
std::string find_thinking_switch(const ChatTemplate& chat);
// Returns the name under which the model's template reads a variable of chat_template_kwargs:
// clients also use the switches of other model families.
const std::string& own_variable(const ServedModel& model, const std::string& name);

}  // namespace pippin::server
