// How much a model thinks: the fields of all dialects, as variables of its template.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pippin/chat/chat_template.h"
#include "pippin/chat/value.h"
#include "pippin/server/model_list.h"
#include "pippin/server/request_fields.h"

namespace pippin::server {

// Levels of reasoning_effort to try with the template, in this order; a null one leaves it out.
using Efforts = std::vector<std::optional<std::string>>;

// The field in which Anthropic's clients name an effort that a model need not know.
constexpr const char* kEffortHint = "output_config.effort";

// Sets reasoning_effort or the template's switch by reasoning_effort, reasoning, think,
// enable_thinking, thinking and output_config. `unheeded` gets the fields that the template does
// not know. Returns the levels for kEffortHint; none where there is no such field, or a switch
// follows it. Throws ApiError(400).
Efforts set_thinking(const ServedModel& model, const RequestFields& body, chat::Dict& context,
                     std::vector<std::string>& unheeded);

// The variable that turns thoughts on and off in this template; empty: it has none.
std::string find_thinking_switch(const ChatTemplate& chat);
// The name under which the model's template reads a variable of chat_template_kwargs: clients turn
// switches by the name of another family, too.
const std::string& own_variable(const ServedModel& model, const std::string& name);

}  // namespace pippin::server
