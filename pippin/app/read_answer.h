// Parses an answer in a conversation: thoughts, content and calls of tools, in the format of the
// model's chat template.
#pragma once

#include <string>
#include <string_view>

#include "pippin/app/conversation.h"
#include "pippin/chat/chat_template.h"
#include "pippin/model_output/answer_part.h"

namespace pippin::app {

// Throws Unsupported if the conversation has tools and the template does not show how its model
// calls them; also throws the template's errors.
model_output::Answer read_answer(const ChatTemplate& chat, const Conversation& conversation,
                                 std::string_view text);

// {"content": ..., "reasoning_content": ..., "tool_calls": [{"id", "name", "arguments"}]}
std::string to_json(const model_output::Answer& answer);

}  // namespace pippin::app
